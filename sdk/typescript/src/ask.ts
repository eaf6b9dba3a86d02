/**
 * Asking, as one promise: the question goes in, the outcome comes out.
 *
 * In: a question. Out: how it ended, typed. Survives broken connections and restarts of the hub: the idempotency key makes the second
 * asking the same question, and the wait is taken up again.
 */

import { orAborted, untilReached } from "./backoff.js";
import { isRetryable } from "./errors.js";
import type { Http } from "./http.js";
import { endOf, type Questions, timeUntil } from "./questions.js";
import type { AskInput, Cause, Outcome, Question, RejectMode, ShownAnswer } from "./types.js";

/** An ask that does not wait for the outcome still tries this long: a connection that broke while nobody used it is no reason to give up. */
const SHORTEST_TRY_MS = 1_000;
/** How long a hub that is away is tried before a question that was to be taken back is left open: more than a restart. */
const TAKE_BACK_MS = 60_000;

export interface AskOptions {
  /**
   * Seconds to wait (whole ones); after that the result is `requested` and the question stays open. If the hub could not be reached
   * until then to store the question, that is a `ConnectionError`. Without it there is no limit.
   */
  wait?: number | undefined;
  /** Ends the waiting with the signal's reason. The question stays open unless `withdrawOnAbort`. */
  signal?: AbortSignal | undefined;
  /**
   * Takes the question back when the signal ends the waiting. The rejection comes at once; the hub is told in the background, with
   * new tries for up to a minute if it cannot be reached. A Node process that has nothing else to do does not stay for those.
   */
  withdrawOnAbort?: boolean | undefined;
  /** Asking again with the same key (also from a new process) takes up the same question. Random unless given. */
  idempotencyKey?: string | undefined;
  /** Told when the hub has stored the question. */
  onAsked?: ((question: Question) => void) | undefined;
}

export interface Answered {
  status: "answered";
  /** One for each item. An empty one was skipped, unless `outcome.withheld` has its index: a secret that can no longer be read. */
  answers: ShownAnswer[];
  /** One per item. */
  notes: (string | null)[];
  editedPlan: string | null;
  nextMode: string | null;
  outcome: Outcome;
  question: Question;
}

export interface Rejected {
  status: "rejected";
  mode: RejectMode | null;
  reason: string | null;
  outcome: Outcome;
  question: Question;
}

/** Nobody's word ended it: the agent went away, or the asker took it back. */
export interface Cancelled {
  status: "cancelled";
  cause: Cause | null;
  outcome: Outcome;
  question: Question;
}

/** The asker's own deadline passed and nobody had answered. */
export interface Expired {
  status: "expired";
  outcome: Outcome;
  question: Question;
}

/** Still open when the `wait` was over, as far as is known: if the hub cannot be reached then, `question` is as it was stored. */
export interface StillOpen {
  status: "requested";
  question: Question;
}

export type AskResult = Answered | Rejected | Cancelled | Expired;

export async function ask(
  http: Http,
  questions: Questions,
  input: AskInput,
  options: AskOptions,
): Promise<AskResult | StillOpen> {
  const { signal } = options;
  const idempotencyKey = options.idempotencyKey ?? randomKey();
  const end = endOf(options.wait);
  const post: Post = (during) =>
    http.json("POST", "/v1/questions", { body: input, idempotencyKey, patience: timeUntil(end), signal: during });
  let sent: Promise<Question> | undefined;
  // Whoever wants to take the question back must learn its id: that request is not cut off, but nobody waits for it any longer.
  const store = () => orAborted((sent = post(options.withdrawOnAbort ? undefined : signal)), signal);
  try {
    const asked = await untilReached(store, { signal, end: Math.max(end, Date.now() + SHORTEST_TRY_MS) });
    options.onAsked?.(asked);
    return resultOf(await settledBy(end, questions, asked, signal));
  } catch (error) {
    if (signal?.aborted && options.withdrawOnAbort && sent) void takeBack(questions, sent, post);
    throw error;
  }
}

/** The question when it is settled or the end has come; if the hub cannot be heard then, as it was stored. */
async function settledBy(end: number, questions: Questions, asked: Question, signal?: AbortSignal): Promise<Question> {
  try {
    return await questions.untilSettled(asked.id, { wait: (end - Date.now()) / 1000, signal });
  } catch (error) {
    if (signal?.aborted || !isRetryable(error)) throw error;
    return asked;
  }
}

type Post = (signal: AbortSignal | undefined) => Promise<Question>;

/**
 * Takes a question back behind the back of the caller, who has been told that it gave up whether or not the hub still hears of it.
 * If the last request does not say what became of it, the same question is asked again, because its key then gives its id.
 */
async function takeBack(questions: Questions, sent: Promise<Question>, post: Post): Promise<void> {
  const signal = AbortSignal.timeout(TAKE_BACK_MS);
  const patience = { signal, idle: true };
  let last: Promise<Question> | undefined = sent;
  const store = () => {
    const asked = last ?? post(signal);
    last = undefined;
    return asked;
  };
  try {
    const { id } = await untilReached(store, patience);
    await untilReached(() => questions.withdraw(id, { signal }), patience);
  } catch {
    // It is settled, it was never accepted, or the hub stayed away.
  }
}

/** Not `randomUUID`, which pages on plain http lack. */
function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** How a question stands, typed. */
export function resultOf(question: Question): AskResult | StillOpen {
  const { outcome } = question;
  if (!outcome) return { status: "requested", question };
  switch (outcome.status) {
    case "answered":
      return {
        status: "answered",
        answers: outcome.answers ?? [],
        notes: outcome.notes ?? question.questions.map(() => null),
        editedPlan: outcome.editedPlan ?? null,
        nextMode: outcome.nextMode ?? null,
        outcome,
        question,
      };
    case "rejected":
      return { status: "rejected", mode: outcome.mode ?? null, reason: outcome.reason ?? null, outcome, question };
    case "expired":
      return { status: "expired", outcome, question };
    default:
      return { status: "cancelled", cause: outcome.cause ?? null, outcome, question };
  }
}
