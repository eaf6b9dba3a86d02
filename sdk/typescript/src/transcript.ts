/**
 * What a managed agent said and says, live, until its session has ended.
 *
 * In: a session's id. Out: its entries in order, each once.
 */

import { type Http, segment } from "./http.js";
import type { Frame } from "./sse.js";
import { dataOf, follow, type FollowOptions, type Stored } from "./stream.js";
import type { Session, TranscriptEntry, TranscriptTrimmed } from "./types.js";

export interface TranscriptOptions extends FollowOptions {
  /** Go on after this entry; from the beginning unless given. */
  after?: number | undefined;
  /** Whether each entry carries the agent's own line. */
  raw?: boolean | undefined;
}

export async function* transcript(
  http: Http,
  session: string,
  options: TranscriptOptions,
): AsyncGenerator<TranscriptEntry | TranscriptTrimmed, void, void> {
  for await (const entries of follow(http, new Conversation(http, session, options), options)) {
    for (const entry of entries) {
      if (options.signal?.aborted) return;
      yield entry;
    }
  }
}

class Conversation implements Stored<TranscriptEntry | TranscriptTrimmed> {
  readonly path: string;
  readonly #http: Http;
  readonly #session: string;
  readonly #raw: boolean | undefined;
  /** The newest entry that has been handed out, or is known to be gone. */
  #number: number;

  constructor(http: Http, session: string, options: TranscriptOptions) {
    this.#http = http;
    this.#session = `/v1/sessions/${segment(session)}`;
    this.path = `${this.#session}/transcript`;
    this.#raw = options.raw;
    this.#number = options.after ?? 0;
  }

  query() {
    return { after: this.#number, raw: this.#raw };
  }

  take(frame: Frame): TranscriptEntry | TranscriptTrimmed | null {
    if (frame.event === "trimmed") {
      const gap = dataOf<{ after: number; through: number }>(frame);
      if (!gap || gap.through <= this.#number) return null;
      this.#number = gap.through;
      return { voice: "trimmed", ...gap };
    }
    const number = frame.id === null ? Number.NaN : Number(frame.id);
    if (!Number.isSafeInteger(number) || number <= this.#number) return null;
    this.#number = number;
    return dataOf<TranscriptEntry>(frame);
  }

  async isOver(signal: AbortSignal): Promise<boolean> {
    return !(await this.#http.json<Session>("GET", this.#session, { signal })).live;
  }
}
