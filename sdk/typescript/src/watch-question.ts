/**
 * One question as a state that follows the hub, from before it is asked until its answer has arrived.
 *
 * In: its id, or the id of a tool call. Out: the state after every change. An older view never replaces a newer one.
 */

import { Backoff, linkedController } from "./backoff.js";
import { CursorLostError, isRetryable } from "./errors.js";
import { eventBatches } from "./events.js";
import { feedOf } from "./feed.js";
import type { Http } from "./http.js";
import { newestSeq } from "./log.js";
import { isOlder, isOver } from "./newer.js";
import type { Questions } from "./questions.js";
import type { Connection } from "./stream.js";
import type { Question } from "./types.js";

/** A wait for a question that is not there yet is taken up again after so long. */
const CALL_WAIT_SECONDS = 3600;

/** Which question: by its own id, or by the tool call that asks it. */
export interface Which {
  questionId?: string | undefined;
  callId?: string | undefined;
  /** The session that made the call, where ids of calls are not unique. */
  session?: string | undefined;
}

export interface QuestionState {
  /** `null` until there is one. */
  question: Question | null;
  /** `stopped` is the end: `error` says why, or the question is over. */
  connection: Connection | "stopped";
  error: unknown;
}

export interface QuestionWatch {
  /** A newer view of the question, such as the response to an answer. */
  take(question: Question): void;
  stop(): void;
}

export function watchQuestion(
  http: Http,
  questions: Questions,
  which: Which,
  listener: (state: QuestionState) => void,
  options: { signal?: AbortSignal | undefined } = {},
): QuestionWatch {
  const { controller, release } = linkedController(options.signal);
  const watch = new Watch(http, questions, which, listener, controller.signal);
  void watch.run().finally(release);
  return { take: (question) => watch.take(question), stop: () => controller.abort() };
}

class Watch {
  #state: QuestionState = { question: null, connection: "connecting", error: null };

  constructor(
    readonly http: Http,
    readonly questions: Questions,
    readonly which: Which,
    readonly listener: (state: QuestionState) => void,
    readonly signal: AbortSignal,
  ) {}

  take(question: Question): void {
    const { question: before } = this.#state;
    if (before && (before.id !== question.id || isOlder(question, before))) return;
    this.#change({ question });
  }

  async run(): Promise<void> {
    const { signal } = this;
    // Its "now" is from before the question is read: what happens in between is heard, not lost.
    const feed = feedOf(this.http);
    const leave = feed?.join();
    const backoff = new Backoff();
    try {
      while (!signal.aborted) {
        try {
          const after = feed && !feed.failure ? await feed.begun(signal) : await newestSeq(this.http, signal);
          // The hub was heard, whether or not there is a question yet.
          this.#change({ connection: "live", error: null });
          const found = await this.#find();
          if (!found) continue;
          backoff.reset();
          this.take(found);
          if (!this.#isOver) await this.#follow(found.id, after);
          if (this.#isOver) return this.#change({ connection: "stopped", error: null });
        } catch (error) {
          if (signal.aborted) return;
          const isNew = error instanceof CursorLostError;
          if (!isNew && !isRetryable(error)) return this.#change({ connection: "stopped", error });
          this.#change({ connection: "lost", error });
          await backoff.pause({ signal }, error.retryAfter).catch(() => undefined);
        }
      }
    } finally {
      leave?.();
    }
  }

  get #isOver(): boolean {
    return this.#state.question !== null && isOver(this.#state.question);
  }

  #find(): Promise<Question | null> {
    const { questionId, callId = "", session } = this.which;
    const { signal } = this;
    const known = this.#state.question?.id ?? questionId;
    if (known !== undefined) return this.questions.get(known, { signal });
    // A chat client often sees the call before the hub has the question.
    return this.questions.byCall(callId, { session, wait: CALL_WAIT_SECONDS, signal });
  }

  /** Ends when the question is over, or when the log was trimmed under the cursor. */
  async #follow(id: string, after: number): Promise<void> {
    const onConnection = (connection: Connection, error?: unknown) => {
      if (connection !== "connecting") this.#change({ connection, error: error ?? null });
    };
    for await (const events of eventBatches(this.http, { after, signal: this.signal, onConnection })) {
      for (const event of events) {
        if (event.type === "log.trimmed") return;
        if ("question" in event && event.question.id === id) this.take(event.question);
        if (this.#isOver) return;
      }
    }
  }

  #change(change: Partial<QuestionState>): void {
    if (this.signal.aborted) return;
    const next = { ...this.#state, ...change };
    const { question, connection, error } = this.#state;
    if (next.question === question && next.connection === connection && next.error === error) return;
    this.#state = next;
    this.listener(next);
  }
}
