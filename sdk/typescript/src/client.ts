/**
 * The client of one hub: everything that the package can do, in one place.
 *
 * In: the hub's address and a token. Out: questions, answers, events; see docs/sdk-typescript.md.
 */

import { ask, type AskOptions, type AskResult, type StillOpen } from "./ask.js";
import { eventBatches, type EventOptions } from "./events.js";
import { Http, type HttpOptions } from "./http.js";
import { onQuestion, type OnQuestionOptions, type QuestionHandler } from "./on-question.js";
import {
  type CallOptions,
  type FindByCallOptions,
  Questions,
  type RejectOptions,
  type ReplyOptions,
} from "./questions.js";
import { Agents, Sessions, Sources, Tokens } from "./resources.js";
import type { Answers, AskdEvent, AskInput, Health, Question } from "./types.js";
import { type QuestionState, type QuestionWatch, watchQuestion, type Which } from "./watch-question.js";
import { type OpenListener, watchOpen, type WatchOptions } from "./watch.js";

export interface AskdClientOptions extends HttpOptions {
  /** The address of the hub; in a page its own origin unless given, else askd's default on this machine. */
  url?: string | URL | undefined;
  /** The bearer token; only `health` and `logIn` work without. */
  token?: string | undefined;
  /** What outcomes say about where they were given: `api` unless told. */
  surface?: "web" | "terminal" | "cli" | "api" | "notification" | undefined;
  /** Another `fetch` than the global one. Its rejections count as a hub that cannot be reached; what it throws at the call is passed on. */
  fetch?: typeof fetch | undefined;
}

export class AskdClient {
  readonly questions: Questions;
  readonly sessions: Sessions;
  readonly sources: Sources;
  readonly tokens: Tokens;
  readonly agents: Agents;
  readonly #http: Http;

  constructor(options: AskdClientOptions = {}) {
    this.#http = new Http(options);
    this.questions = new Questions(this.#http);
    this.sessions = new Sessions(this.#http);
    this.sources = new Sources(this.#http);
    this.tokens = new Tokens(this.#http);
    this.agents = new Agents(this.#http);
  }

  /** The hub's address, without a slash at its end. */
  get url(): string {
    return this.#http.base;
  }

  /** Whether another client talks to the same hub with the same token in the same way. */
  isLike(other: AskdClient): boolean {
    return this.#http.shared === other.#http.shared;
  }

  /** Asks, and resolves with the outcome, however long that takes. */
  ask(input: AskInput, options?: AskOptions & { wait?: undefined }): Promise<AskResult>;
  /** Asks, and resolves with the outcome, or with `requested` when the `wait` is over. */
  ask(input: AskInput, options: AskOptions): Promise<AskResult | StillOpen>;
  ask(input: AskInput, options: AskOptions = {}): Promise<AskResult | StillOpen> {
    return ask(this.#http, this.questions, input, options);
  }

  /** Answers. The first valid answer wins; the same one again succeeds again; another one throws `AlreadySettledError`. */
  replyQuestion(id: string, answers: Answers, options?: ReplyOptions): Promise<Question> {
    return this.questions.reply(id, answers, options);
  }

  /** Rejects. The question's `rejectModes` says what its agent can be told. */
  rejectQuestion(id: string, options?: RejectOptions): Promise<Question> {
    return this.questions.reject(id, options);
  }

  /** Answers the question of a tool call, as a chat client has it. */
  replyByCall(callId: string, answers: Answers, options?: ReplyOptions & FindByCallOptions): Promise<Question> {
    return this.questions.replyByCall(callId, answers, options);
  }

  /** The asker takes its own question back. */
  withdraw(id: string, options?: CallOptions & { reason?: string | undefined }): Promise<Question> {
    return this.questions.withdraw(id, options);
  }

  /** Calls `handler` with each open question, now and later, once each; what it returns is the answer. Returns how to stop. */
  onQuestion(handler: QuestionHandler, options?: OnQuestionOptions): () => void {
    return onQuestion(this.#http, this.questions, handler, options);
  }

  /** Follows the open questions: `listener` gets the whole state after every change. Returns how to stop. */
  watchOpen(listener: OpenListener, options?: WatchOptions): () => void {
    return watchOpen(this.#http, this.questions, listener, options);
  }

  /** Follows one question, also one that is not asked yet: `listener` gets its state after every change. */
  watchQuestion(which: Which, listener: (state: QuestionState) => void, options?: CallOptions): QuestionWatch {
    return watchQuestion(this.#http, this.questions, which, listener, options);
  }

  /**
   * Events in order, none lost, none repeated, over any number of reconnects. Ends when the signal says so. Without `after` they
   * start with the first `next()`, not with this call.
   */
  async *events(options: EventOptions = {}): AsyncGenerator<AskdEvent, void, void> {
    for await (const events of eventBatches(this.#http, options)) {
      for (const event of events) {
        if (options.signal?.aborted) return;
        yield event;
      }
    }
  }

  /** Whether the hub works. Needs no token. */
  health(options?: CallOptions): Promise<Health> {
    return this.#http.json("GET", "/v1/health", options);
  }

  /** Exchanges the one-time code of a log-in link for a token. Needs no token. */
  async logIn(code: string, options?: CallOptions): Promise<string> {
    return (await this.#http.json<{ token: string }>("POST", "/v1/login", { body: { code }, ...options })).token;
  }
}
