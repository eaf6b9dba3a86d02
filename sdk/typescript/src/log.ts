/**
 * The hub's log as a stream that reconnects: its cursor, and how its frames are read.
 *
 * In: where to start and what the hub shall leave out. Out: what `follow` needs.
 */

import type { Http } from "./http.js";
import type { Frame } from "./sse.js";
import { dataOf, type Stored } from "./stream.js";
import type { AskdEvent, EventFilter, QuestionPage } from "./types.js";

export class Log implements Stored<AskdEvent> {
  readonly path = "/v1/events";
  readonly #http: Http;
  readonly #filter: EventFilter;
  /** The newest event that has been handed out, or was left out by the hub. */
  #seq: number | undefined;
  #trimmedThrough = 0;

  constructor(http: Http, after: number | undefined, filter: EventFilter = {}) {
    this.#http = http;
    this.#filter = filter;
    this.#seq = after;
  }

  get seq(): number {
    return this.#seq ?? 0;
  }

  async query(signal: AbortSignal) {
    // "Now" is fixed before the first connection, so that nothing is lost if that one fails.
    this.#seq ??= await newestSeq(this.#http, signal);
    return { ...this.#filter, after: this.#seq };
  }

  take(frame: Frame): AskdEvent | null {
    const event = dataOf<AskdEvent>(frame);
    if (event?.type === "log.trimmed") {
      // It has no number of its own, so every reconnect tells it again.
      const known = event.through <= this.#trimmedThrough;
      this.#trimmedThrough = Math.max(this.#trimmedThrough, event.through);
      return known ? null : event;
    }
    const seq = frame.id === null ? Number.NaN : Number(frame.id);
    if (!Number.isSafeInteger(seq) || seq <= (this.#seq ?? 0)) return null;
    this.#seq = seq;
    return event;
  }
}

export async function newestSeq(http: Http, signal: AbortSignal): Promise<number> {
  return (await http.json<QuestionPage>("GET", "/v1/questions", { query: { limit: 1 }, signal })).seq;
}
