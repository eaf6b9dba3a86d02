/**
 * Asking, as one promise: the question goes in, the outcome comes out.
 *
 * In: a question. Out: how it ended, typed. Survives broken connections and restarts of the hub: the idempotency key makes the second
 * asking the same question, and the wait is taken up again.
 */

import { untilReached } from "./backoff.js";
import { AskdError } from "./errors.js";
import type { Http } from "./http.js";
import type { Questions } from "./questions.js";
import type { Answers, AskInput, Cause, Outcome, Question, RejectMode } from "./types.js";

export interface AskOptions {
  /** Seconds to wait; after that the result is `requested` and the question stays open. Without it there is no limit. */
  wait?: number | undefined;
  /** Ends the waiting with the signal's reason. The question stays open unless `withdrawOnAbort`. */
  signal?: AbortSignal | undefined;
  /** Takes the question back when the signal ends the waiting. */
  withdrawOnAbort?: boolean | undefined;
  /** Asking again with the same key (also from a new process) takes up the same question. Random unless given. */
  idempotencyKey?: string | undefined;
  /** Told when the hub has stored the question. */
  onAsked?: ((question: Question) => void) | undefined;
}

export interface Answered {
  status: "answered";
  answers: Answers;
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

/** Still open when the `wait` was over. */
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
  const { signal, wait } = options;
  const idempotencyKey = options.idempotencyKey ?? randomKey();
  // Whoever wants to take the question back must learn its id: that request is not cut off.
  const during = options.withdrawOnAbort ? undefined : signal;
  const post = () => http.json<Question>("POST", "/v1/questions", { body: input, idempotencyKey, signal: during });
  const asked = await untilReached(post, signal);
  options.onAsked?.(asked);
  try {
    return resultOf(await questions.untilSettled(asked.id, { wait, signal }));
  } catch (error) {
    if (signal?.aborted && options.withdrawOnAbort) await withdrawQuietly(questions, asked.id);
    throw error;
  }
}

/** The caller is told that it gave up, whether or not the hub still heard of it. */
async function withdrawQuietly(questions: Questions, id: string): Promise<void> {
  try {
    await questions.withdraw(id);
  } catch (error) {
    if (!(error instanceof AskdError)) throw error;
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
