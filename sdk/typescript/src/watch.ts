/**
 * The open questions as a state that follows the hub: listed once, then kept by the stream, joined without a gap.
 *
 * In: a filter. Out: the state after every change. When the hub's log cannot carry it on (another store, trimmed events), it lists again.
 */

import { Backoff, linkedController } from "./backoff.js";
import { CursorLostError, isRetryable } from "./errors.js";
import { eventBatches } from "./events.js";
import type { Http } from "./http.js";
import type { Questions } from "./questions.js";
import type { Connection } from "./stream.js";
import type { AskdEvent, EventFilter, Question } from "./types.js";

export interface OpenState {
  /** Open questions by id, oldest first. A new map after every change. */
  questions: ReadonlyMap<string, Question>;
  /** `stopped` is the end: `error` says why. */
  connection: Connection | "stopped";
  /** Why the connection was lost or stopped. */
  error: unknown;
  /** The newest event that the state has seen; `null` before the first list. */
  seq: number | null;
}

/** Called with the state after each change, and with the events that made it (none after a list or a change of connection). */
export type OpenListener = (state: OpenState, events: AskdEvent[]) => void;

export interface WatchOptions {
  filter?: Omit<EventFilter, "status"> | undefined;
  signal?: AbortSignal | undefined;
}

/** Questions of one page while listing: few requests, each small enough. */
const PAGE = 200;

/** Follows until the returned function is called or the signal ends it; then `listener` is not called again. */
export function watchOpen(
  http: Http,
  questions: Questions,
  listener: OpenListener,
  options: WatchOptions = {},
): () => void {
  const { controller, release } = linkedController(options.signal);
  const watch = new Watch(http, questions, listener, options.filter ?? {}, controller.signal);
  void watch.run().finally(release);
  return () => controller.abort();
}

class Watch {
  #state: OpenState = { questions: new Map(), connection: "connecting", error: null, seq: null };

  constructor(
    readonly http: Http,
    readonly questions: Questions,
    readonly listener: OpenListener,
    readonly filter: Omit<EventFilter, "status">,
    readonly signal: AbortSignal,
  ) {}

  async run(): Promise<void> {
    const backoff = new Backoff();
    while (!this.signal.aborted) {
      try {
        await this.#list();
        backoff.reset();
        await this.#follow();
      } catch (error) {
        if (this.signal.aborted) return;
        const listAgain = error instanceof CursorLostError;
        if (!listAgain && !isRetryable(error)) return this.#change({ connection: "stopped", error });
        this.#change({ connection: "lost", error });
        await backoff.pause({ signal: this.signal }, error.retryAfter).catch(() => undefined);
      }
    }
  }

  #change(change: Partial<OpenState>, events: AskdEvent[] = []): void {
    if (this.signal.aborted) return;
    this.#state = { ...this.#state, ...change };
    try {
      this.listener(this.#state, events);
    } catch (error) {
      // A fault of the listener is not one of the stream: it surfaces as uncaught, and the next change is told as usual.
      queueMicrotask(() => {
        throw error;
      });
    }
  }

  async #list(): Promise<void> {
    const listing = this.questions.list(
      { ...this.filter, status: "requested", order: "asc", limit: PAGE },
      { signal: this.signal },
    );
    const open = new Map<string, Question>();
    // The stream goes on after the first page: what changed while the others were read is heard there again.
    let seq: number | undefined;
    let cursor: string | null | undefined;
    do {
      const page = await listing.page(cursor);
      seq ??= page.seq;
      for (const question of page.questions) open.set(question.id, question);
      cursor = page.nextCursor;
    } while (cursor);
    this.#change({ questions: open, seq, connection: "connecting", error: null });
  }

  /** Ends when the log was trimmed under the cursor. */
  async #follow(): Promise<void> {
    const onConnection = (connection: Connection, error?: unknown) => {
      if (connection !== this.#state.connection) this.#change({ connection, error: error ?? null });
    };
    const options = { after: this.#state.seq ?? 0, filter: this.filter, signal: this.signal, onConnection };
    for await (const events of eventBatches(this.http, options)) {
      if (events.some((event) => event.type === "log.trimmed")) return;
      const open = new Map(this.#state.questions);
      let seq = this.#state.seq;
      for (const event of events) {
        if ("seq" in event) seq = event.seq;
        if (!("question" in event)) continue;
        if (event.question.status === "requested") open.set(event.question.id, event.question);
        else open.delete(event.question.id);
      }
      this.#change({ questions: open, seq }, events);
    }
  }
}
