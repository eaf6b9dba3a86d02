/**
 * `/v1/questions`: list, read, wait, find by tool call, answer, reject, withdraw.
 *
 * In: ids, filters, answers. Out: questions as the hub has stored them, or an `AskdError`.
 */

import { Backoff, linkedController, untilReached } from "./backoff.js";
import {
  AskdError,
  ForbiddenError,
  InvalidAnswerError,
  InvalidRequestError,
  isRetryable,
  NotFoundError,
} from "./errors.js";
import { eventBatches } from "./events.js";
import { feedOf } from "./feed.js";
import { type Http, segment } from "./http.js";
import type { Connection } from "./stream.js";
import { watchQuestion } from "./watch-question.js";
import type { Answers, Question, QuestionFilter, QuestionPage, Rejection } from "./types.js";

export interface CallOptions {
  signal?: AbortSignal | undefined;
}

export interface WriteOptions extends CallOptions {
  /** Names this request, so that sending it again does nothing again. */
  idempotencyKey?: string | undefined;
}

export interface ReplyOptions extends WriteOptions {
  /** One per item. */
  notes?: (string | null)[] | undefined;
  /** The plan as the person changed it. */
  editedPlan?: string | undefined;
  /** The mode in which the agent is to go on; one of the question's `nextModes`. */
  nextMode?: string | undefined;
}

export interface RejectOptions extends WriteOptions, Rejection {}

export interface FindByCallOptions extends CallOptions {
  /** The session that made the call. Only within one are ids of calls unique, so only this makes the search exact. */
  session?: string | undefined;
  /** Seconds to wait for the question, which may come a moment after the call is seen elsewhere. */
  wait?: number | undefined;
}

/** The longest wait that the hub takes for one request: a day. */
const LONGEST_WAIT_SECONDS = 86_400;
/** A hub that is connected but slow gets this long past the end of a limited wait: what it is about to say is worth that. */
const GRACE_MS = 5_000;
/** One request waits this long: under the minute after which many a proxy closes what is quiet. */
const WAIT_SECONDS = 55;
/** Timers cannot count further. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** A list: iterate over it for all questions, page by page; or take one page. */
export interface QuestionListing extends AsyncIterable<Question> {
  /** One page: the first, or the one at `cursor` (`nextCursor` of the page before). Its `seq` joins it to `events({ after })`. */
  page(cursor?: string | null): Promise<QuestionPage>;
}

export class Questions {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  list(filter: QuestionFilter = {}, options: CallOptions = {}): QuestionListing {
    const page = (cursor?: string | null) =>
      this.#http.json<QuestionPage>("GET", "/v1/questions", { query: { ...filter, cursor }, ...options });
    return {
      page,
      async *[Symbol.asyncIterator]() {
        let cursor: string | null | undefined;
        do {
          const { questions, nextCursor } = await page(cursor);
          yield* questions;
          cursor = nextCursor;
        } while (cursor);
      },
    };
  }

  /** One question; with `wait` the hub answers when it is settled, or after so many seconds (whole ones, at most a day). */
  async get(id: string, options: CallOptions & { wait?: number | undefined } = {}): Promise<Question> {
    const { wait, signal } = options;
    const limits = wait === undefined ? {} : { wait: wholeSeconds(wait), patience: GRACE_MS };
    return this.#http.json("GET", `/v1/questions/${segment(id)}`, { ...limits, signal });
  }

  /** The agent's own words for a question; `null` for one that came through the API. */
  async native(id: string, options: CallOptions = {}): Promise<unknown> {
    return this.#http.json("GET", `/v1/questions/${segment(id)}/native`, options);
  }

  /**
   * The question when it is settled, however long that takes, over broken connections and restarts of the hub. With `wait` it comes as it
   * is after so many seconds (whole ones); a hub that cannot be reached then is an error.
   */
  async untilSettled(id: string, options: CallOptions & { wait?: number | undefined } = {}): Promise<Question> {
    const { signal } = options;
    const end = endOf(options.wait);
    if (feedOf(this.#http)) {
      try {
        return await this.#untilHeard(id, end, signal);
      } catch (error) {
        // Who may ask, and not read, cannot hear of it either.
        if (!(error instanceof ForbiddenError)) throw error;
      }
    }
    const backoff = new Backoff();
    for (;;) {
      signal?.throwIfAborted();
      const started = Date.now();
      const wait = Math.min(WAIT_SECONDS, wholeSeconds((end - started) / 1000));
      let question: Question | undefined;
      let retryAfter = 0;
      try {
        const patience = timeUntil(end) - wait * 1000;
        question = await this.#http.json<Question>("GET", `/v1/questions/${segment(id)}`, { wait, patience, signal });
      } catch (error) {
        signal?.throwIfAborted();
        if (!isRetryable(error) || Date.now() >= end) throw error;
        retryAfter = error.retryAfter;
      }
      if (question && (question.status !== "requested" || Date.now() >= end)) return question;
      const waited = Date.now() - started >= wait * 1000;
      if (question && waited) backoff.reset();
      // A hub that is away, or that answers before its time because it is stopping, is given a moment.
      else await backoff.pause({ signal, end }, retryAfter);
    }
  }

  /** In a page: by the stream that it has already, because a request that waits would hold another connection. */
  async #untilHeard(id: string, end: number, signal: AbortSignal | undefined): Promise<Question> {
    for (;;) {
      const { controller, release } = linkedController(signal);
      const timer =
        end === Infinity
          ? undefined
          : setTimeout(() => controller.abort(), Math.min(timeUntil(end) - GRACE_MS, LONGEST_TIMER_MS));
      try {
        await new Promise<void>((resolve, reject) => {
          controller.signal.addEventListener("abort", () => resolve());
          watchQuestion(
            this.#http,
            this,
            { questionId: id },
            ({ question, connection, error }) => {
              if (question && question.status !== "requested") resolve();
              else if (connection === "stopped") reject(error);
            },
            { signal: controller.signal },
          );
        });
      } finally {
        controller.abort();
        clearTimeout(timer);
        release();
      }
      signal?.throwIfAborted();
      // What only the asker may read is in no event.
      const question = await untilReached(() => this.get(id, { signal }), { signal, end });
      if (question.status !== "requested" || Date.now() >= end) return question;
    }
  }

  /**
   * The question that a tool call asks: the open one, else the newest; `null` if there is none (after `wait` seconds). Several
   * open ones, or ones of several sessions, open or settled, are an error (`ambiguous_call`): name the session. So is a hub that is
   * away when the `wait` is over.
   */
  async byCall(callId: string, options: FindByCallOptions = {}): Promise<Question | null> {
    const { session, wait = 0, signal } = options;
    const filter = session === undefined ? { callId } : { callId, session };
    const end = endOf(wait);
    // Who waits may also wait for a hub that is away just now.
    const { found, seq } = await untilReached(() => this.#ofCall(callId, filter, end, signal), { signal, end });
    if (found || wait <= 0) return found;
    const { controller, release } = linkedController(signal);
    const timer = setTimeout(() => controller.abort(), Math.min(Math.max(0, end - Date.now()), LONGEST_TIMER_MS));
    // Who cannot hear the hub does not know that there is no question.
    let away: unknown = null;
    const onConnection = (connection: Connection, error?: unknown) => (away = connection === "lost" ? error : null);
    const following = { after: seq, filter, signal: controller.signal, onConnection };
    try {
      for await (const events of eventBatches(this.#http, following)) {
        for (const event of events) if ("question" in event) return event.question;
      }
      signal?.throwIfAborted();
      if (away) throw away;
      return null;
    } finally {
      clearTimeout(timer);
      release();
    }
  }

  async #ofCall(
    callId: string,
    filter: QuestionFilter,
    end: number,
    signal: AbortSignal | undefined,
  ): Promise<{ found: Question | null; seq: number }> {
    const query = { ...filter, limit: 500 };
    const page = await this.#http.json<QuestionPage>("GET", "/v1/questions", {
      query,
      patience: timeUntil(end),
      signal,
    });
    const open = page.questions.filter((question) => question.status === "requested");
    // Agents count their calls from one: an id that several sessions have used says nothing about whose question is meant.
    const sessions = new Set(page.questions.map((question) => question.sessionId ?? null)).size;
    if (open.length > 1 || sessions > 1) {
      const what = sessions > 1 ? `questions of ${sessions} sessions` : `${open.length} open questions`;
      const message = `${what} have the call id ${JSON.stringify(callId)}; name the session`;
      throw new AskdError(message, { code: "ambiguous_call" });
    }
    return { found: open[0] ?? page.questions[0] ?? null, seq: page.seq };
  }

  /** Answers. The first valid answer wins; the same one again succeeds again; another one throws `AlreadySettledError`. */
  async reply(id: string, answers: Answers, options: ReplyOptions = {}): Promise<Question> {
    const { notes, editedPlan, nextMode, idempotencyKey, signal } = options;
    const body = { answers, notes, editedPlan, nextMode };
    return settle(this.#http.json("POST", `/v1/questions/${segment(id)}/reply`, { body, idempotencyKey, signal }));
  }

  /** Answers the question of a tool call, as a chat client has it. */
  async replyByCall(
    callId: string,
    answers: Answers,
    options: ReplyOptions & FindByCallOptions = {},
  ): Promise<Question> {
    const question = await this.byCall(callId, options);
    if (!question) {
      const message = `no question has the call id ${JSON.stringify(callId)}`;
      throw new NotFoundError(message, { code: "not_found", status: 404 });
    }
    return this.reply(question.id, answers, options);
  }

  /** Rejects. The question's `rejectModes` says what its agent can be told. */
  async reject(id: string, options: RejectOptions = {}): Promise<Question> {
    const { mode, reason, idempotencyKey, signal } = options;
    const body = { mode, reason };
    return settle(this.#http.json("POST", `/v1/questions/${segment(id)}/reject`, { body, idempotencyKey, signal }));
  }

  /** The asker takes its own question back. */
  async withdraw(id: string, options: CallOptions & { reason?: string | undefined } = {}): Promise<Question> {
    const { reason, signal } = options;
    return this.#http.json("POST", `/v1/questions/${segment(id)}/withdraw`, { body: { reason }, signal });
  }
}

/** Seconds as the hub takes them: whole, rounded up, not less than none. */
function wholeSeconds(seconds: number): number {
  return seconds > 0 ? Math.min(Math.ceil(seconds), LONGEST_WAIT_SECONDS) : 0;
}

/** When a wait of so many seconds that begins now is over. */
export function endOf(wait: number | undefined): number {
  return wait === undefined ? Infinity : Date.now() + (wait > 0 ? wait : 0) * 1000;
}

/** How long a request that begins now may take if somebody waits until `end`. */
export function timeUntil(end: number): number {
  return Math.max(0, end - Date.now()) + GRACE_MS;
}

/** Says of an answer that does not fit that it is the answer. */
async function settle(request: Promise<Question>): Promise<Question> {
  try {
    return await request;
  } catch (error) {
    if (!(error instanceof InvalidRequestError)) throw error;
    const { message, code, status, problem } = error;
    throw new InvalidAnswerError(message, { code, problem, ...(status === null ? {} : { status }) });
  }
}
