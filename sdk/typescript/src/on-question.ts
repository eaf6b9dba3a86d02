/**
 * A function that is called with every open question, once, and may answer it.
 *
 * In: the function. Out: calls, now and later. What it returns is sent as the answer; it may also return nothing and answer later.
 */

import { linkedController, untilReached } from "./backoff.js";
import { AlreadySettledError } from "./errors.js";
import type { Http } from "./http.js";
import type { Questions } from "./questions.js";
import type { Answers, Question, Reply } from "./types.js";
import { watchOpen, type WatchOptions } from "./watch.js";

/** What to answer, or nothing. */
export type QuestionReaction = Answers | Reply | null | undefined | void;

export type QuestionHandler = (question: Question) => QuestionReaction | Promise<QuestionReaction>;

export interface OnQuestionOptions extends WatchOptions {
  /**
   * Told when the handler throws, when its answer is refused, and when the hub cannot be followed any more (then without a question).
   * Without it, errors are unhandled rejections; only that somebody else answered first is then passed over.
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
  const fail = (error: unknown, question: Question | null) => {
    if (signal.aborted && error === signal.reason) return;
    if (options.onError) options.onError(error, question);
    else if (!(error instanceof AlreadySettledError)) throw error;
  };
  const handle = async (question: Question) => {
    try {
      const reaction = await handler(question);
      if (!reaction) return;
      const { answers, ...rest } = Array.isArray(reaction) ? { answers: reaction } : reaction;
      // The same answer again gets the same success, so a broken connection may be tried again. Unsubscribing ends the
      // tries, but not an answer that is on its way.
      await untilReached(() => questions.reply(question.id, answers, dropNulls(rest)), { signal });
    } catch (error) {
      fail(error, question);
    }
  };
  // A question that has left the state was settled and never comes back: nothing older needs to be remembered.
  let handled = new Set<string>();
  const stop = watchOpen(
    http,
    questions,
    (state) => {
      if (state.connection === "stopped") void (async () => fail(state.error, null))();
      const fresh = [...state.questions.values()].filter((question) => !handled.has(question.id));
      handled = new Set(state.questions.keys());
      for (const question of fresh) void handle(question);
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
