/**
 * Patience: how long to wait before the next try, and waiting that a signal can end.
 *
 * In: what failed. Out: promises that resolve when it is time, or reject when the caller has had enough.
 */

import { isRetryable } from "./errors.js";

/** The first wait; a hub that only restarts is back in a few hundred milliseconds. */
const FIRST_WAIT_MS = 100;
/** The longest wait: a person who opens the laptop must not look at an old inbox for longer. */
const LONGEST_WAIT_MS = 5_000;

/** Doubles from try to try, with jitter so that many clients do not come back at one moment. */
export class Backoff {
  #tries = 0;

  /** After a success: the next failure starts small again. */
  reset(): void {
    this.#tries = 0;
  }

  /** How long to wait now, at least `floor` milliseconds. */
  next(floor = 0): number {
    const ceiling = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(this.#tries, 16));
    this.#tries += 1;
    return Math.max(floor, ceiling / 2 + Math.random() * (ceiling / 2));
  }

  /** Waits before the next try, at least `floor` milliseconds but not past the end. Rejects with the signal's reason if that comes first. */
  async pause({ signal, end = Infinity, idle }: Patience, floor = 0): Promise<void> {
    await sleep(Math.min(this.next(floor), Math.max(0, end - Date.now())), signal, idle);
  }
}

/** How long somebody waits. */
export interface Patience {
  signal?: AbortSignal | undefined;
  /** When the last try is made, as `Date.now()` counts. Never unless given. */
  end?: number | undefined;
  /** Whether a Node process may end during a pause. */
  idle?: boolean | undefined;
}

/** Resolves after `ms`; rejects with the signal's reason if that comes first. An `idle` sleep does not keep Node from ending. */
export function sleep(ms: number, signal?: AbortSignal, idle = false): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const timer = setTimeout(() => {
      release();
      resolve();
    }, ms);
    // A browser's timer is a number and has no such thing.
    if (idle) (timer as unknown as { unref?: () => void }).unref?.();
    const release = onAbort(signal, () => {
      clearTimeout(timer);
      reject(signal?.reason);
    });
  });
}

/** Does `work` until it succeeds or fails for good, or the end has come. Only for work that may be done twice without harm. */
export async function untilReached<T>(work: () => Promise<T>, patience: Patience = {}): Promise<T> {
  const { signal, end = Infinity } = patience;
  const backoff = new Backoff();
  for (;;) {
    signal?.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      signal?.throwIfAborted();
      if (!isRetryable(error) || Date.now() >= end) throw error;
      await backoff.pause(patience, error.retryAfter);
    }
  }
}

/** The promise, or the signal's reason if that comes first. What the promise does after that is passed over. */
export async function orAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  let release = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    if (signal?.aborted) reject(signal.reason);
    release = onAbort(signal, () => reject(signal?.reason));
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    release();
  }
}

/** A controller that ends with `signal`; `release` lets go of the signal. */
export function linkedController(signal?: AbortSignal): { controller: AbortController; release: () => void } {
  const controller = new AbortController();
  if (signal?.aborted) controller.abort(signal.reason);
  const release = onAbort(signal, () => controller.abort(signal?.reason));
  return { controller, release };
}

/** Who is to be told when a signal ends: one listener for all, because Node warns of signals with many. */
const followers = new WeakMap<AbortSignal, Set<() => void>>();

/** Calls back when the signal ends, unless released before. */
function onAbort(signal: AbortSignal | undefined, callback: () => void): () => void {
  if (!signal || signal.aborted) return () => undefined;
  let told = followers.get(signal);
  if (!told) {
    const all = (told = new Set());
    followers.set(signal, all);
    signal.addEventListener("abort", () => [...all].forEach((tell) => tell()), { once: true });
  }
  const mine = told;
  mine.add(callback);
  return () => void mine.delete(callback);
}
