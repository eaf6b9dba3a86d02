/**
 * `/v1/events`: the hub's log from a cursor on.
 *
 * In: where to start and what to hear of. Out: batches of events; each event once, in order.
 */

import type { Http } from "./http.js";
import type { Frame } from "./sse.js";
import { dataOf, follow, type FollowOptions, type Stored } from "./stream.js";
import type { AskdEvent, EventFilter, QuestionPage } from "./types.js";

export interface EventOptions extends FollowOptions {
  /** Go on after this event. Without it the stream starts now, which is when the first event is asked for. */
  after?: number | undefined;
  filter?: EventFilter | undefined;
}

export function eventBatches(http: Http, options: EventOptions): AsyncGenerator<AskdEvent[], void, void> {
  return follow(http, new Log(http, options), options);
}

class Log implements Stored<AskdEvent> {
  readonly path = "/v1/events";
  readonly #http: Http;
  readonly #filter: EventFilter;
  /** The newest event that has been handed out. */
  #seq: number | undefined;
  #trimmedThrough = 0;

  constructor(http: Http, options: EventOptions) {
    this.#http = http;
    this.#filter = options.filter ?? {};
    this.#seq = options.after;
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

async function newestSeq(http: Http, signal: AbortSignal): Promise<number> {
  return (await http.json<QuestionPage>("GET", "/v1/questions", { query: { limit: 1 }, signal })).seq;
}
