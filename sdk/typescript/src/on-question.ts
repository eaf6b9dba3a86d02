/**
 * A function that is called with every open question, once, and may answer it.
 *
 * In: the function. Out: calls, now and later. What it returns is sent as the answer; it may also return nothing and answer later.
 */

import { linkedController, untilReached } from "./backoff.js";
import { AlreadySettledError, isRetryable } from "./errors.js";
import type { Http } from "./http.js";
import type { Questions } from "./questions.js";
import type { Answers, Question, Rejection, Reply } from "./types.js";
import { watchOpen, type WatchOptions } from "./watch.js";

/** What to answer, or nothing. */
export type QuestionReaction = Answers | Reply | null | undefined | void;

/** What a handler has besides the question. */
export interface QuestionTurn {
  /** Ends when the question is settled, or when the subscription ends: a dialog that shows it may close. */
  signal: AbortSignal;
  /** Answers, with new tries while the hub cannot be reached. */
  answer(answers: Answers, options?: Omit<Reply, "answers">): Promise<Question>;
  /** Rejects, with new tries while the hub cannot be reached. */
  reject(rejection?: Rejection): Promise<Question>;
}

export type QuestionHandler = (question: Question, turn: QuestionTurn) => QuestionReaction | Promise<QuestionReaction>;

export interface OnQuestionOptions extends WatchOptions {
  /**
   * Told when the handler throws, when its answer is refused or (after the end of the subscription) cannot be sent, and when the hub cannot be followed any more (then without a question).
   * Without it, errors are unhandled rejections; only that somebody else answered first, and that the hub could not be reached
   * after the end of the subscription, is then passed over.
   */
  onError?: ((error: unknown, question: Question | null) => void) | undefined;
}

export function onQuestion(
  http: Http,
  questions: Questions,
  handler: QuestionHandler,
  options: OnQuestionOptions = {},
): () => void {
  const { controller, release } = linkedController(options.signal);
  const { signal } = controller;
  const unsubscribed = (error: unknown) => signal.aborted && error === signal.reason;
  const fail = (error: unknown, question: Question | null) => {
    if (unsubscribed(error)) return;
    if (options.onError) return options.onError(error, question);
    const lateAndLost = signal.aborted && isRetryable(error);
    if (!lateAndLost && !(error instanceof AlreadySettledError)) throw error;
  };
  /** The same where nobody waits: what is thrown is then an unhandled rejection. */
  const report = (error: unknown, question: Question | null) => void (async () => fail(error, question))();
  // The same answer again gets the same success, so a broken connection may be tried again.
  const untilSent = (send: () => Promise<Question>) =>
    untilReached(send, { signal }).catch((error: unknown) => {
      if (!unsubscribed(error)) throw error;
      // Unsubscribing ends the tries, but what the handler has decided is not dropped: it is sent once more, or for the first time.
      return send();
    });
  const handle = async (question: Question) => {
    const { id } = question;
    const answer: QuestionTurn["answer"] = (answers, rest = {}) =>
      untilSent(() => questions.reply(id, answers, dropNulls(rest)));
    const reject: QuestionTurn["reject"] = (rejection = {}) =>
      untilSent(() => questions.reject(id, dropNulls(rejection)));
    try {
      const ended = open.get(id)?.signal ?? signal;
      const reaction = await handler(question, { signal: ended, answer, reject });
      if (!reaction) return;
      const { answers, ...rest } = Array.isArray(reaction) ? { answers: reaction } : reaction;
      await answer(answers, rest);
    } catch (error) {
      fail(error, question);
    }
  };
  /** One after the other, what the stream has told: after a gap it tells of long ago, and what is settled by now is left out. */
  const handleIfOpen = async (told: Question[]) => {
    for (const question of told) {
      if (signal.aborted) return;
      // What the stream itself has settled meanwhile costs no request.
      if (!open.has(question.id)) continue;
      try {
        const now = await untilReached(() => questions.get(question.id, { signal }), { signal });
        if (now.status === "requested" && !signal.aborted) void handle(now);
      } catch (error) {
        report(error, question);
      }
    }
  };
  // A question that has left the state was settled. It comes back only where its answer did not arrive: then it is asked anew.
  const open = new Map<string, AbortController>();
  signal.addEventListener("abort", () => [...open.values()].forEach((one) => one.abort()), { once: true });
  let turn = Promise.resolve();
  const stop = watchOpen(
    http,
    questions,
    (state, events) => {
      if (state.connection === "stopped") report(state.error, null);
      const fresh = [...state.questions.values()].filter((question) => !open.has(question.id));
      for (const { id } of fresh) open.set(id, new AbortController());
      for (const [id, turn] of open) {
        if (state.questions.has(id)) continue;
        open.delete(id);
        turn.abort();
      }
      // A list is the hub's word of this moment.
      if (events.length === 0) for (const question of fresh) void handle(question);
      else if (fresh.length > 0) turn = turn.then(() => handleIfOpen(fresh));
    },
    { filter: options.filter, signal },
  );
  return () => {
    controller.abort();
    stop();
    release();
  };
}

function dropNulls<T extends object>(value: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field != null)) as {
    [K in keyof T]?: NonNullable<T[K]>;
  };
}
