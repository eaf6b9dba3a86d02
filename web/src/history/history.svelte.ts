/** The pages of the history that were read so far. In: a filter. Out: settled questions, newest first. */

import { type AskdClient, type Question, type QuestionPage, words } from "../api.ts";
import { toFilter, type Wanted } from "./filter.ts";

const PAGE = 50;
/** What an export reads in one request, and the most that is read again at once. */
const EXPORT_PAGE = 500;

export class History {
  questions = $state.raw<Question[]>([]);
  loading = $state(false);
  failure = $state("");
  more = $state(false);
  #cursor: string | null = null;
  #turn = 0;

  constructor(private readonly hub: AskdClient) {}

  async search(wanted: Wanted): Promise<void> {
    await this.#read(wanted, PAGE, null, ({ questions, nextCursor }) => {
      this.questions = questions;
      this.#cursor = nextCursor ?? null;
    });
  }

  async next(wanted: Wanted): Promise<void> {
    await this.#read(wanted, PAGE, this.#cursor, ({ questions, nextCursor }) => {
      this.questions = [...this.questions, ...questions];
      this.#cursor = nextCursor ?? null;
    });
  }

  /** Reads again what is shown, as far as one request goes; what is older stays, so that no row goes under a reader's eyes. */
  async renew(wanted: Wanted): Promise<void> {
    const shown = Math.min(Math.max(this.questions.length, PAGE), EXPORT_PAGE);
    await this.#read(wanted, shown, null, ({ questions, nextCursor }) => {
      const last = questions.at(-1);
      const older = last && nextCursor ? this.questions.filter(({ seq }) => seq < last.seq) : [];
      this.questions = [...questions, ...older];
      if (older.length === 0) this.#cursor = nextCursor ?? null;
    });
  }

  async #read(wanted: Wanted, limit: number, cursor: string | null, take: (page: QuestionPage) => void): Promise<void> {
    const turn = (this.#turn += 1);
    this.loading = true;
    try {
      const page = await this.hub.questions.list(toFilter(wanted, Date.now(), limit)).page(cursor);
      // A slow answer to an earlier question must not replace a later one.
      if (turn !== this.#turn) return;
      take(page);
      this.more = this.#cursor !== null;
      this.failure = "";
    } catch (error) {
      if (turn === this.#turn) this.failure = words(error);
    } finally {
      if (turn === this.#turn) this.loading = false;
    }
  }

  /** All that fits the filter, as one JSON text; null where it could not be read. */
  async export(wanted: Wanted): Promise<string | null> {
    const all: Question[] = [];
    try {
      for await (const question of this.hub.questions.list(toFilter(wanted, Date.now(), EXPORT_PAGE)))
        all.push(question);
    } catch (error) {
      this.failure = words(error);
      return null;
    }
    return JSON.stringify({ exportedAt: new Date().toISOString(), questions: all }, null, 2);
  }
}
