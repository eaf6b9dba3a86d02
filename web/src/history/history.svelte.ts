/** The pages of the history that were read so far. In: a filter. Out: settled questions, newest first. */

import { type AskdClient, type Question, words } from "../api.ts";
import { toFilter, type Wanted } from "./filter.ts";

const PAGE = 50;
/** What an export reads in one request. */
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
    this.#cursor = null;
    await this.#read(wanted, (found) => found);
  }

  async next(wanted: Wanted): Promise<void> {
    await this.#read(wanted, (found) => [...this.questions, ...found]);
  }

  async #read(wanted: Wanted, join: (found: Question[]) => Question[]): Promise<void> {
    const turn = (this.#turn += 1);
    this.loading = true;
    try {
      const page = await this.hub.questions.list(toFilter(wanted, Date.now(), PAGE)).page(this.#cursor);
      // A slow answer to an earlier question must not replace a later one.
      if (turn !== this.#turn) return;
      this.questions = join(page.questions);
      this.#cursor = page.nextCursor ?? null;
      this.more = this.#cursor !== null;
      this.failure = "";
    } catch (error) {
      if (turn === this.#turn) this.failure = words(error);
    } finally {
      if (turn === this.#turn) this.loading = false;
    }
  }

  /** All that fits the filter, as one JSON text. */
  async export(wanted: Wanted): Promise<string> {
    const all: Question[] = [];
    for await (const question of this.hub.questions.list(toFilter(wanted, Date.now(), EXPORT_PAGE))) all.push(question);
    return JSON.stringify({ exportedAt: new Date().toISOString(), questions: all }, null, 2);
  }
}
