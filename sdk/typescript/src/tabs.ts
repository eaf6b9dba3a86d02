/**
 * Who follows the hub for a page: one tab for all pages of its origin where the browser has locks, else each page while it can be seen.
 *
 * In: a feed. Out: the feed is told what the hub tells. The tab that holds the lock reads the stream and passes it on; one that is
 * closed or frozen is replaced, and its successor goes on from its own cursor, so that nothing is lost or told twice.
 */

import { linkedController } from "./backoff.js";
import { AskdError, ConnectionError, fromProblem, fromStatus } from "./errors.js";
import type { Feed } from "./feed.js";
import { Log, newestSeq } from "./log.js";
import { type Connection, follow } from "./stream.js";
import type { AskdEvent, Problem } from "./types.js";

/** A tab that leads answers at once; one that is silent for so long is frozen, and loses the lead. */
const SILENCE_MS = 3000;
/** How often a tab that hears nothing asks whether there is somebody who leads. */
const ASK_MS = 10_000;
/** How often a page that cannot be seen, and has no lock, looks whether something happened. */
const HIDDEN_MS = 5000;
/** A tab that was closed before it took its request back may hold the stream up for no longer than this. */
const LONGEST_WAY_MS = 10_000;

export interface Lead {
  /** Begins when the feed's cursor is known. */
  begin(): void;
  /** Lets a request have the connection of the stream, or takes it back. */
  giveWay(needed: boolean): void;
}

export function leadTogether(feed: Feed, signal: AbortSignal): Lead {
  const isPossible =
    feed.http.isCommon && globalThis.navigator?.locks && globalThis.crypto?.subtle && globalThis.BroadcastChannel;
  return isPossible ? new Tab(feed, signal) : new LonePage(feed, signal);
}

/** Reads the hub's stream, until the signal ends it, with pauses in which a request has its connection. */
class Stream {
  #current: AbortController | null = null;
  #isPaused = false;

  constructor(
    readonly feed: Feed,
    readonly signal: AbortSignal,
    readonly tell: Hearer,
  ) {
    this.#run();
  }

  pause(): void {
    this.#isPaused = true;
    this.#current?.abort();
  }

  resume(): void {
    if (this.#isPaused) this.#run();
  }

  #run(): void {
    if (this.signal.aborted) return;
    this.#isPaused = false;
    const { controller, release } = linkedController(this.signal);
    this.#current = controller;
    void this.#follow(controller.signal).finally(release);
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { feed, tell } = this;
    const log = new Log(feed.http, feed.seq ?? 0);
    const onConnection = (connection: Connection, error?: unknown) => {
      // A stream that only goes on is not news.
      if (!signal.aborted && !(connection === "connecting" && feed.connection === "live"))
        tell.connection(connection, error ?? null);
    };
    try {
      for await (const events of follow(feed.http, log, { signal, onConnection }))
        tell.events(feed.seq ?? 0, log.seq, events);
    } catch (error) {
      if (!signal.aborted) tell.failed(error);
    }
  }
}

interface Hearer {
  events(after: number, seq: number, events: AskdEvent[]): void;
  connection(connection: Connection, error: unknown): void;
  failed(error: unknown): void;
}

/** Errors as tabs tell them to each other: an object of a class does not travel. */
interface Told {
  code: string;
  status: number | null;
  message: string;
  problem: Problem | null;
}

type Message =
  | { says: "hello" }
  | { says: "way"; needed: boolean }
  | { says: "events"; after: number; seq: number; events: AskdEvent[] }
  | { says: "connection"; connection: Connection; error: Told | null; seq: number }
  | { says: "failed"; error: Told };

class Tab implements Lead, Hearer {
  #channel: BroadcastChannel | null = null;
  #name = "";
  #begun = false;
  /** What came before the feed's cursor was known. */
  #early: Message[] = [];
  #stream: Stream | null = null;
  /** Ends the lead of this tab. */
  #quit: (() => void) | null = null;
  #waiting = new AbortController();
  #suspicion: ReturnType<typeof setTimeout> | undefined;
  #asking: ReturnType<typeof setInterval> | undefined;
  #way: ReturnType<typeof setTimeout> | undefined;
  readonly #opened: Promise<void>;

  constructor(
    readonly feed: Feed,
    readonly signal: AbortSignal,
  ) {
    this.#opened = this.#open();
    signal.addEventListener("abort", () => this.#stop(), { once: true });
  }

  async #open(): Promise<void> {
    this.#name = await nameOf(this.feed.key);
    if (this.signal.aborted) return;
    this.#channel = new BroadcastChannel(this.#name);
    this.#channel.onmessage = ({ data }: MessageEvent<Message>) => this.#hear(data);
  }

  begin(): void {
    void this.#opened.then(() => this.#begin());
  }

  #begin(): void {
    if (this.signal.aborted) return;
    this.#begun = true;
    for (const message of this.#early.splice(0)) this.#hear(message);
    globalThis.document?.addEventListener("visibilitychange", this.#seen);
    this.#asking = setInterval(() => this.#ask(), ASK_MS);
    this.#queue();
    this.#ask();
  }

  giveWay(needed: boolean): void {
    if (this.#quit) this.#makeWay(needed);
    else this.#say({ says: "way", needed });
  }

  events(after: number, seq: number, events: AskdEvent[]): void {
    this.#say({ says: "events", after, seq, events });
    this.feed.take(after, seq, events);
  }

  connection(connection: Connection, error: unknown): void {
    this.feed.tell(connection, error);
    this.#tellState();
  }

  failed(error: unknown): void {
    this.#say({ says: "failed", error: toldOf(error) });
    this.feed.fail(error);
  }

  readonly #seen = (): void => {
    if (!document.hidden) this.#ask();
  };

  /** Asks the tab that leads how it stands. A browser freezes hidden tabs, and one that is frozen must not lead. */
  #ask(): void {
    if (this.#quit || this.signal.aborted) return;
    this.#say({ says: "hello" });
    this.#suspicion ??= setTimeout(() => {
      this.#suspicion = undefined;
      this.#queue(true);
    }, SILENCE_MS);
  }

  #queue(steal = false): void {
    if (this.signal.aborted || this.#quit) return;
    this.#waiting.abort();
    const waiting = (this.#waiting = new AbortController());
    const options = steal ? { steal } : { signal: waiting.signal };
    void navigator.locks
      .request(this.#name, options, () => (waiting.signal.aborted ? undefined : this.#lead()))
      // Given up here, or taken by a tab that believed this one to be frozen.
      .catch(() => {
        if (waiting.signal.aborted) return;
        this.#quit?.();
        this.#queue();
        this.#ask();
      });
  }

  /** Leads until it stops or the lock is taken away. */
  #lead(): Promise<void> {
    this.#calm();
    return new Promise((release) => {
      const { controller, release: letGo } = linkedController(this.signal);
      this.#stream = new Stream(this.feed, controller.signal, this);
      this.#quit = () => {
        this.#quit = this.#stream = null;
        clearTimeout(this.#way);
        controller.abort();
        letGo();
        release();
      };
    });
  }

  #makeWay(needed: boolean): void {
    clearTimeout(this.#way);
    if (!needed) return this.#stream?.resume();
    this.#stream?.pause();
    this.#way = setTimeout(() => this.#stream?.resume(), LONGEST_WAY_MS);
  }

  #calm(): void {
    clearTimeout(this.#suspicion);
    this.#suspicion = undefined;
  }

  #say(message: Message): void {
    if (!this.signal.aborted) this.#channel?.postMessage(message);
  }

  #tellState(): void {
    const { connection, error, seq } = this.feed;
    this.#say({ says: "connection", connection, error: error === null ? null : toldOf(error), seq: seq ?? 0 });
  }

  #hear(message: Message): void {
    if (!this.#begun) {
      this.#early.push(message);
      return;
    }
    if (message.says === "hello" || message.says === "way") {
      if (!this.#quit) return;
      if (message.says === "hello") this.#tellState();
      else this.#makeWay(message.needed);
      return;
    }
    // A tab that has lost the lead and does not know it yet.
    if (this.#quit) return;
    this.#calm();
    if (message.says === "events") {
      this.feed.take(message.after, message.seq, message.events);
    } else if (message.says === "connection") {
      // What it has heard, and did not tell here, is asked for.
      if (message.seq > (this.feed.seq ?? 0)) this.feed.take(message.seq, message.seq, []);
      this.feed.tell(message.connection, message.error && errorOf(message.error));
    } else {
      this.feed.fail(errorOf(message.error));
    }
  }

  #stop(): void {
    globalThis.document?.removeEventListener("visibilitychange", this.#seen);
    clearInterval(this.#asking);
    this.#calm();
    this.#waiting.abort();
    this.#quit?.();
    this.#channel?.close();
    this.#channel = null;
  }
}

/** Without locks no page can be sure to lead alone: each follows the hub while it can be seen, and looks now and then while it cannot. */
class LonePage implements Lead, Hearer {
  #stream: Stream | null = null;
  #ending: AbortController | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    readonly feed: Feed,
    readonly signal: AbortSignal,
  ) {}

  begin(): void {
    globalThis.document?.addEventListener("visibilitychange", this.#seen);
    this.signal.addEventListener("abort", () => this.#stop(), { once: true });
    this.#seen();
  }

  giveWay(needed: boolean): void {
    if (needed) this.#stream?.pause();
    else this.#stream?.resume();
  }

  events(after: number, seq: number, events: AskdEvent[]): void {
    this.feed.take(after, seq, events);
  }

  connection(connection: Connection, error: unknown): void {
    this.feed.tell(connection, error);
  }

  failed(error: unknown): void {
    this.feed.fail(error);
  }

  readonly #seen = (): void => {
    clearTimeout(this.#timer);
    if (globalThis.document?.hidden) {
      this.#drop();
      this.#timer = setTimeout(() => void this.#look(), HIDDEN_MS);
    } else if (!this.#stream) {
      const { controller } = linkedController(this.signal);
      this.#ending = controller;
      this.#stream = new Stream(this.feed, controller.signal, this);
    }
  };

  async #look(): Promise<void> {
    try {
      const seq = await newestSeq(this.feed.http, this.signal);
      // Whoever hears this asks the hub for what there was.
      if (document.hidden && seq > (this.feed.seq ?? 0)) this.feed.take(seq, seq, []);
      this.feed.tell("live");
    } catch (error) {
      if (!this.signal.aborted) this.feed.tell("lost", error);
    }
    if (!this.signal.aborted && document.hidden) this.#seen();
  }

  #drop(): void {
    this.#ending?.abort();
    this.#ending = this.#stream = null;
  }

  #stop(): void {
    clearTimeout(this.#timer);
    globalThis.document?.removeEventListener("visibilitychange", this.#seen);
    this.#drop();
  }
}

/** The name of the lock and the channel: nobody can read the token from it. */
async function nameOf(key: string): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key));
  return `askd.${Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

function toldOf(error: unknown): Told {
  if (error instanceof AskdError) {
    const { code, status, message, problem } = error;
    return { code, status, message, problem };
  }
  return { code: "unexpected_response", status: null, message: String(error), problem: null };
}

function errorOf({ code, status, message, problem }: Told): AskdError {
  if (problem) return fromProblem(problem);
  if (status === null && code === "connection_failed") return new ConnectionError(message, { code });
  return status === null ? new AskdError(message, { code }) : fromStatus(status, message, { code, status });
}
