/**
 * A stream of the hub that is a cursor over something stored: reconnects by itself, loses nothing, repeats nothing.
 *
 * In: an address, a cursor, and how to read a frame. Out: batches of what the frames hold, in order, as they came over the wire together.
 */

import { Backoff, linkedController, sleep } from "./backoff.js";
import { AskdError, ConnectionError, isRetryable } from "./errors.js";
import { type Http, type RequestOptions, unexpected } from "./http.js";
import { type Frame, FrameParser } from "./sse.js";

/** How a stream stands: `live` hears the hub, `lost` tries to reach it again. */
export type Connection = "connecting" | "live" | "lost";

export interface FollowOptions {
  signal?: AbortSignal | undefined;
  /** Told whenever the connection comes or goes. */
  onConnection?: ((connection: Connection, error?: unknown) => void) | undefined;
}

/** What is followed. */
export interface Stored<T> {
  path: string;
  /** Where to go on from, asked before each connection. */
  query(signal: AbortSignal): Promise<RequestOptions["query"]> | RequestOptions["query"];
  /** The same where the cursor is a header. */
  headers?: Record<string, string>;
  /** What a frame holds, if it is new. Moves the cursor. */
  take(frame: Frame): T | null;
  /** Whether nothing more can come, asked when the hub has ended a connection in which it had nothing new. */
  isOver?(signal: AbortSignal): Promise<boolean>;
}

/** The hub speaks every 10 seconds; a stream that is silent for this long is dead, whatever TCP thinks. */
const SILENCE_MS = 35_000;

/** Batches until the signal ends it. Errors that waiting cannot mend are thrown. */
export async function* follow<T>(
  http: Http,
  stored: Stored<T>,
  options: FollowOptions,
): AsyncGenerator<T[], void, void> {
  const { controller, release } = linkedController(options.signal);
  const { signal } = controller;
  const backoff = new Backoff();
  const heard = () => {
    backoff.reset();
    options.onConnection?.("live");
  };
  options.onConnection?.("connecting");
  try {
    while (!signal.aborted) {
      try {
        let news = false;
        for await (const batch of oneConnection(http, stored, signal, heard)) {
          news = true;
          yield batch;
        }
        if (!news && (await stored.isOver?.(signal))) return;
        throw new ConnectionError("the hub ended the stream", { code: "connection_failed" });
      } catch (error) {
        if (signal.aborted) return;
        if (!isRetryable(error)) throw error;
        options.onConnection?.("lost", error);
        await backoff.pause({ signal }, error.retryAfter).catch(() => undefined);
      }
    }
  } finally {
    controller.abort();
    release();
  }
}

/** The JSON of a frame. */
export function dataOf<T>(frame: Frame): T | null {
  try {
    return frame.data === null ? null : (JSON.parse(frame.data) as T);
  } catch (cause) {
    throw new AskdError("this is not askd's stream: a frame is not JSON", { code: "unexpected_response", cause });
  }
}

async function* oneConnection<T>(
  http: Http,
  stored: Stored<T>,
  outer: AbortSignal,
  heard: () => void,
): AsyncGenerator<T[], void, void> {
  const { controller, release } = linkedController(outer);
  const { signal } = controller;
  try {
    const query = await stored.query(signal);
    const response = await within(
      http.send("GET", stored.path, "text/event-stream", { query, headers: stored.headers, signal }),
      signal,
    );
    const type = response.headers.get("content-type") ?? "";
    if (!type.startsWith("text/event-stream") || !response.body)
      throw unexpected(response, "it is not an event stream");
    const reader = response.body.getReader();
    const decoder = new TextDecoder();
    const parser = new FrameParser();
    for (let first = true; ; first = false) {
      const { done, value } = await within(readPiece(reader, signal), signal);
      if (done) return;
      if (first) heard();
      const frames = parser.push(decoder.decode(value, { stream: true }));
      const batch = frames.map((frame) => stored.take(frame)).filter((taken) => taken !== null);
      if (batch.length > 0) yield batch;
    }
  } finally {
    controller.abort();
    release();
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

/** The promise, or an error when the hub is silent for too long or the signal ends it. */
async function within<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { controller: enough, release } = linkedController(signal);
  const silence = sleep(SILENCE_MS, enough.signal).then(() => {
    throw new ConnectionError("the hub is silent", { code: "connection_failed" });
  });
  silence.catch(() => undefined);
  try {
    return await Promise.race([promise, silence]);
  } finally {
    release();
    enough.abort();
  }
}
