/**
 * One stream of the hub's log for everything in a page that follows the same hub with the same token: browsers open six connections
 * to a host, and each answer needs one of them.
 *
 * In: a hub, and hearers that each have a cursor. Out: the events after each hearer's cursor. The newest are kept; a hearer that is
 * further behind catches up by a stream of its own, which ends as soon as it has.
 */

import { Backoff, linkedController, orAborted } from "./backoff.js";
import { CursorLostError, isRetryable } from "./errors.js";
import type { EventOptions } from "./events.js";
import { Http } from "./http.js";
import { Log, newestSeq } from "./log.js";
import type { Frame } from "./sse.js";
import { type Connection, follow } from "./stream.js";
import { leadTogether } from "./tabs.js";
import type { AskdEvent, EventFilter } from "./types.js";

/** Events that are kept for hearers: more than come while a list is read. */
const KEPT = 500;

const feeds = new Map<string, Feed>();

// Not a call from there to here: requests know nothing of feeds.
Http.giveWay = (http) => feeds.get(http.shared)?.giveWay();

/** The feed of a hub and token; `null` where there is no page. */
export function feedOf(http: Http): Feed | null {
  if (globalThis.location === undefined) return null;
  let feed = feeds.get(http.shared);
  if (!feed) {
    feed = new Feed(http, http.shared);
    feeds.set(http.shared, feed);
  }
  return feed;
}

export class Feed {
  /** The newest event that was heard; `null` while the hub has not said where "now" is. */
  seq: number | null = null;
  connection: Connection = "connecting";
  /** Why the connection is lost. */
  error: unknown = null;
  /** Why nothing more will come. */
  failure: { error: unknown } | null = null;
  /** What came after `#from`, oldest first. */
  #recent: AskdEvent[] = [];
  #from = 0;
  #hearers = 0;
  #ending = new AbortController();
  #turn = turn();
  /** Gives the connection to a request that waits for one; called with whether it is needed. */
  #giveWay: ((needed: boolean) => void) | null = null;

  constructor(
    readonly http: Http,
    readonly key: string,
  ) {}

  /** Counts a hearer; the first begins the stream, and the last one that leaves ends it. */
  join(): () => void {
    this.#hearers += 1;
    if (this.#hearers === 1) void this.#run(this.#ending.signal);
    let left = false;
    return () => {
      if (left) return;
      left = true;
      this.#hearers -= 1;
      if (this.#hearers === 0) this.#end();
    };
  }

  /** Where "now" was when this was joined, or later. Throws while the hub is away. */
  async begun(signal: AbortSignal): Promise<number> {
    for (;;) {
      if (this.failure) throw this.failure.error;
      if (this.seq !== null) return this.seq;
      if (this.connection === "lost") throw this.error;
      await this.changed(signal);
    }
  }

  /** The events after a cursor; `null` if they are not kept. */
  since(after: number): AskdEvent[] | null {
    if (after < this.#from) return null;
    return this.#recent.filter((event) => "seq" in event && event.seq > after);
  }

  /** Resolves at the next change. */
  changed(signal: AbortSignal): Promise<void> {
    return orAborted(this.#turn.promise, signal);
  }

  /** Takes events, which follow the one with the number `after`, and reach to `seq`. */
  take(after: number, seq: number, events: AskdEvent[]): void {
    const known = this.seq ?? 0;
    const trimmed = events.reduce(
      (most, event) => (event.type === "log.trimmed" ? Math.max(most, event.through) : most),
      0,
    );
    const gap = Math.max(after > known ? after : 0, trimmed);
    if (gap > 0) {
      // Who has not heard of what is missing asks the hub for it.
      this.#recent = [];
      this.#from = gap;
    }
    this.#recent.push(...events.filter((event) => "seq" in event && event.seq > Math.max(known, gap)));
    const over = this.#recent.splice(0, Math.max(0, this.#recent.length - KEPT)).at(-1);
    if (over && "seq" in over) this.#from = over.seq;
    this.seq = Math.max(known, seq, gap);
    this.#change();
  }

  tell(connection: Connection, error: unknown = null): void {
    this.connection = connection;
    this.error = error;
    this.#change();
  }

  fail(error: unknown): void {
    this.failure = { error };
    this.#end();
    this.#change();
  }

  /** A request waits for longer than it should, perhaps for a connection: the stream gives its own away until the returned call. */
  giveWay(): () => void {
    this.#giveWay?.(true);
    return () => this.#giveWay?.(false);
  }

  async #run(signal: AbortSignal): Promise<void> {
    const lead = leadTogether(this, signal);
    this.#giveWay = (needed) => lead.giveWay(needed);
    const backoff = new Backoff();
    for (;;) {
      try {
        this.seq = this.#from = await newestSeq(this.http, signal);
        break;
      } catch (error) {
        if (signal.aborted) return;
        if (!isRetryable(error)) return this.fail(error);
        this.tell("lost", error);
        await backoff.pause({ signal }, error.retryAfter).catch(() => undefined);
        if (signal.aborted) return;
      }
    }
    if (signal.aborted) return;
    this.#change();
    lead.begin();
  }

  /** A later hearer gets a new feed. */
  #end(): void {
    if (feeds.get(this.key) === this) feeds.delete(this.key);
    this.#giveWay = null;
    this.#ending.abort();
  }

  #change(): void {
    const { go } = this.#turn;
    this.#turn = turn();
    go();
  }
}

function turn(): { promise: Promise<void>; go: () => void } {
  let go = (): void => undefined;
  const promise = new Promise<void>((resolve) => (go = resolve));
  return { promise, go };
}

/** What a stream of its own would give, from the feed. */
export async function* sharedBatches(
  feed: Feed,
  http: Http,
  options: EventOptions,
): AsyncGenerator<AskdEvent[], void, void> {
  const { controller, release } = linkedController(options.signal);
  const { signal } = controller;
  const leave = feed.join();
  let { after } = options;
  let isChecked = false;
  let told: Connection | null = null;
  let why: unknown;
  const tell = (connection: Connection, error: unknown) => {
    if (connection === told && error === why) return;
    [told, why] = [connection, error];
    options.onConnection?.(connection, error ?? undefined);
  };
  try {
    while (!signal.aborted) {
      if (feed.failure) throw feed.failure.error;
      tell(feed.connection, feed.error);
      if (feed.seq === null) {
        await feed.changed(signal);
        continue;
      }
      after ??= feed.seq;
      // The hub refuses a cursor from beyond its log; here nobody would.
      if (!isChecked && after > feed.seq && after > (await newestSeq(http, signal))) throw beyond(after);
      isChecked = true;
      const events = feed.since(after);
      if (events === null) {
        for await (const batch of catchUp(feed, http, after, signal)) {
          after = batch.seq;
          const wanted = batch.events.filter((event) => matches(event, options.filter));
          if (wanted.length > 0) yield wanted;
        }
        continue;
      }
      const last = events.at(-1);
      if (!last || !("seq" in last)) {
        await feed.changed(signal);
        continue;
      }
      after = last.seq;
      const wanted = events.filter((event) => matches(event, options.filter));
      if (wanted.length > 0) yield wanted;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    leave();
    controller.abort();
    release();
  }
}

/** Follows the hub from `after` until the feed has what comes next. */
async function* catchUp(
  feed: Feed,
  http: Http,
  after: number,
  outer: AbortSignal,
): AsyncGenerator<{ seq: number; events: AskdEvent[] }> {
  const { controller, release } = linkedController(outer);
  let seq = after;
  class Behind extends Log {
    override take(frame: Frame): AskdEvent | null {
      const event = super.take(frame);
      seq = Math.max(seq, this.seq, event?.type === "log.trimmed" ? event.through : 0);
      if (feed.failure || feed.since(seq) !== null) controller.abort();
      return event;
    }
  }
  try {
    for await (const events of follow(http, new Behind(http, after), { signal: controller.signal }))
      yield { seq, events };
    if (!outer.aborted) yield { seq, events: [] };
  } finally {
    controller.abort();
    release();
  }
}

function beyond(after: number): CursorLostError {
  return new CursorLostError(`the hub has no event ${after} yet: list again`, { code: "invalid_cursor" });
}

function matches(event: AskdEvent, filter: EventFilter = {}): boolean {
  const { status, agent, session, callId } = filter;
  if (event.type === "log.trimmed") return true;
  if ("question" in event) {
    const { question } = event;
    const isOf = (wanted: string | undefined, is: string | null | undefined) => wanted === undefined || wanted === is;
    return (
      isOf(status, question.status) &&
      isOf(agent, question.agent) &&
      isOf(session, question.sessionId) &&
      isOf(callId, question.tool?.callId)
    );
  }
  // What is not about a question has no status and no call.
  const of = event.session;
  return (
    status === undefined &&
    callId === undefined &&
    (agent === undefined || agent === of.agent) &&
    (session === undefined || session === of.id)
  );
}
