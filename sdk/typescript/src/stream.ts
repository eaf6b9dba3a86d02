/**
 * The event stream as a cursor over the hub's log: reconnects by itself, loses nothing, repeats nothing.
 *
 * In: where to start and what to hear of. Out: batches of events, in order, as they came over the wire together.
 */

import { Backoff, linkedController, sleep } from "./backoff.js";
import { ConnectionError, isRetryable } from "./errors.js";
import { type Http, unexpected } from "./http.js";
import { FrameParser, type Frame } from "./sse.js";
import type { AskdEvent, EventFilter, QuestionPage } from "./types.js";

/** How a stream stands: `live` hears the hub, `lost` tries to reach it again. */
export type Connection = "connecting" | "live" | "lost";

export interface StreamOptions {
  /** Go on after this event. Without it the stream starts now. */
  after?: number | undefined;
  filter?: EventFilter | undefined;
  signal?: AbortSignal | undefined;
  /** Told whenever the connection comes or goes. */
  onConnection?: ((connection: Connection, error?: unknown) => void) | undefined;
}

/** The hub speaks every 10 seconds; a stream that is silent for this long is dead, whatever TCP thinks. */
const SILENCE_MS = 35_000;

/** Batches until the signal ends it. Errors that waiting cannot mend are thrown. */
export async function* streamBatches(http: Http, options: StreamOptions): AsyncGenerator<AskdEvent[], void, void> {
  const { controller, release } = linkedController(options.signal);
  const { signal } = controller;
  const cursor = new Cursor(options.after);
  const backoff = new Backoff();
  options.onConnection?.("connecting");
  try {
    for (;;) {
      try {
        cursor.seq ??= await newestSeq(http, options.filter, signal);
        const heard = () => {
          backoff.reset();
          options.onConnection?.("live");
        };
        yield* oneConnection(http, cursor, options.filter, signal, heard);
        throw new ConnectionError("the hub ended the stream", { code: "connection_failed" });
      } catch (error) {
        if (signal.aborted) return;
        if (!isRetryable(error)) throw error;
        options.onConnection?.("lost", error);
        await backoff.pause(signal, error.retryAfter).catch(() => undefined);
        if (signal.aborted) return;
      }
    }
  } finally {
    controller.abort();
    release();
  }
}

/** What has been handed out already. */
class Cursor {
  seq: number | undefined;
  #trimmedThrough = 0;

  constructor(after: number | undefined) {
    this.seq = after;
  }

  /** The event of a frame, if it is new. */
  take(frame: Frame): AskdEvent | null {
    const event = frame.data === null ? null : (JSON.parse(frame.data) as AskdEvent);
    if (event?.type === "log.trimmed") {
      // It has no number of its own: a reconnect would tell it again.
      const known = event.through <= this.#trimmedThrough;
      this.#trimmedThrough = Math.max(this.#trimmedThrough, event.through);
      return known ? null : event;
    }
    const seq = frame.id === null ? Number.NaN : Number(frame.id);
    if (!Number.isSafeInteger(seq) || seq <= (this.seq ?? 0)) return null;
    this.seq = seq;
    return event;
  }
}

async function newestSeq(http: Http, filter: EventFilter | undefined, signal: AbortSignal): Promise<number> {
  const page = await http.json<QuestionPage>("GET", "/v1/questions", { query: { ...filter, limit: 1 }, signal });
  return page.seq;
}

async function* oneConnection(
  http: Http,
  cursor: Cursor,
  filter: EventFilter | undefined,
  outer: AbortSignal,
  heard: () => void,
): AsyncGenerator<AskdEvent[], void, void> {
  const { controller, release } = linkedController(outer);
  const { signal } = controller;
  try {
    const query = { ...filter, after: cursor.seq };
    const response = await within(http.send("GET", "/v1/events", "text/event-stream", { query, signal }));
    yield* newEvents(response, cursor, signal, heard);
  } finally {
    controller.abort();
    release();
  }
}

async function* newEvents(
  response: Response,
  cursor: Cursor,
  signal: AbortSignal,
  heard: () => void,
): AsyncGenerator<AskdEvent[], void, void> {
  const type = response.headers.get("content-type") ?? "";
  if (!type.startsWith("text/event-stream") || !response.body) throw unexpected(response, "it is not an event stream");
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  const parser = new FrameParser();
  for (let first = true; ; first = false) {
    const { done, value } = await within(readPiece(reader, signal));
    if (done) return;
    if (first) heard();
    const frames = parser.push(decoder.decode(value, { stream: true }));
    const events = frames.map((frame) => cursor.take(frame)).filter((event) => event !== null);
    if (events.length > 0) yield events;
  }
}

async function readPiece(reader: ReadableStreamDefaultReader<Uint8Array>, signal: AbortSignal) {
  try {
    return await reader.read();
  } catch (cause) {
    signal.throwIfAborted();
    throw new ConnectionError("the stream broke", { code: "connection_failed", cause });
  }
}

/** The promise, or an error when the hub is silent for too long. */
async function within<T>(promise: Promise<T>): Promise<T> {
  const enough = new AbortController();
  const silence = sleep(SILENCE_MS, enough.signal).then(() => {
    throw new ConnectionError("the hub is silent", { code: "connection_failed" });
  });
  try {
    return await Promise.race([promise, silence]);
  } finally {
    enough.abort();
    silence.catch(() => undefined);
  }
}
