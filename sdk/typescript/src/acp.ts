/**
 * An agent over ACP, as docs/acp.md has it: requests, what the agent tells, and what it asks, without JSON-RPC by hand.
 *
 * In: a hub, a name for the server, and the agent to start under it. Out: the agent's responses; its updates, questions and other
 * requests by `listen`. A connection that breaks loses nothing: the stream goes on after the last entry, and brings a response that
 * nobody was there to take.
 */

import { linkedController, orAborted } from "./backoff.js";
import { ConnectionError, NotFoundError } from "./errors.js";
import { Http, type HttpOptions, segment } from "./http.js";
import type { Frame } from "./sse.js";
import { dataOf, follow, type FollowOptions, type Stored } from "./stream.js";

export interface AcpOptions extends Omit<HttpOptions, "surface"> {
  /** A name of your choice for the running agent. */
  server: string;
  /** What to start under it, as `agents.list()` names it. */
  agent: string;
}

export type AcpId = string | number | null;

export interface AcpMessage {
  jsonrpc: "2.0";
  id?: AcpId;
  method?: string;
  params?: unknown;
  result?: unknown;
  error?: { code: number; message: string; data?: unknown };
}

/** The agent answered a request with an error. */
export class AcpError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor({ code, message, data }: NonNullable<AcpMessage["error"]>) {
    super(message);
    this.name = "AcpError";
    this.code = code;
    this.data = data;
  }
}

/** One thing that a prompt is made of. */
export interface ContentBlock {
  type: string;
  text?: string;
  [more: string]: unknown;
}

export interface AcpUpdate {
  sessionId: string;
  update: { sessionUpdate: string; [more: string]: unknown };
}

/** `_sandboxagent/session/request_question`, as the agent sent it. */
export interface AcpQuestion {
  sessionId: string;
  questionId: string;
  prompt: string;
  /** Values and labels. */
  options: [value: string, label: string][];
  [more: string]: unknown;
}

interface Turn {
  /** Ends when the question is settled, wherever that was, or when `listen` ends. */
  signal: AbortSignal;
}

export interface QuestionTurn extends Turn {
  answer(answers: string[][], more?: { notes?: (string | null)[] }): Promise<void>;
  reject(more?: { mode?: string; reason?: string }): Promise<void>;
}

export interface RequestTurn extends Turn {
  respond(result: unknown): Promise<void>;
  fail(error: NonNullable<AcpMessage["error"]>): Promise<void>;
}

export interface AcpListener {
  update?(update: AcpUpdate): void;
  question?(question: AcpQuestion, turn: QuestionTurn): void;
  /** Permissions, forms, files, terminals: every other request of the agent. One that nobody answers stays open at the hub. */
  request?(method: string, params: unknown, turn: RequestTurn): void;
  /** Every message as it is, also those above. */
  message?(message: AcpMessage): void;
  ended?(cause: unknown): void;
  error?(error: unknown): void;
}

const QUESTION = "_sandboxagent/session/request_question";
const RESOLVED = "_askd/question_resolved";
const ENDED = "_askd/agent_ended";

export class AcpClient {
  readonly #http: Http;
  readonly #path: string;
  readonly #agent: string;
  /** Not counted from one: other clients of the same server have requests, too. */
  readonly #prefix = Array.from(crypto.getRandomValues(new Uint8Array(6)), (byte) => byte.toString(16)).join("");
  #count = 0;
  /** Requests whose connection broke: their responses come in the stream. */
  readonly #waiting = new Map<AcpId, (message: AcpMessage) => void>();
  #listeners = 0;
  #begin = (): void => undefined;
  /** The agent runs under this name. */
  readonly #begun = new Promise<void>((resolve) => (this.#begin = resolve));

  constructor(options: AcpOptions) {
    this.#http = new Http(options);
    this.#path = `/v1/acp/${segment(options.server)}`;
    this.#agent = options.agent;
  }

  initialize(params: { protocolVersion?: number; clientCapabilities?: object } = {}): Promise<Record<string, unknown>> {
    return this.request("initialize", { protocolVersion: 1, clientCapabilities: {}, ...params });
  }

  async newSession(params: { cwd: string; mcpServers?: unknown[] }): Promise<string> {
    return (await this.request<{ sessionId: string }>("session/new", { mcpServers: [], ...params })).sessionId;
  }

  /** Resolves when the turn has ended, however long that takes. */
  prompt(sessionId: string, prompt: string | ContentBlock[], options: { signal?: AbortSignal } = {}) {
    const blocks = typeof prompt === "string" ? [{ type: "text", text: prompt }] : prompt;
    return this.request<{ stopReason: string }>("session/prompt", { sessionId, prompt: blocks }, options);
  }

  /** Ends the turn; what it asks is withdrawn. */
  cancel(sessionId: string): Promise<void> {
    return this.notify("session/cancel", { sessionId });
  }

  async request<T = Record<string, unknown>>(
    method: string,
    params?: unknown,
    options: { signal?: AbortSignal } = {},
  ): Promise<T> {
    this.#count += 1;
    const id = `${this.#prefix}-${this.#count}`;
    const { message, drop } = this.#later(id);
    try {
      const said = await this.#post({ jsonrpc: "2.0", id, method, params }, options.signal).catch((error: unknown) => {
        // The agent has the request, or never will: the stream says which. Nobody hears it who does not listen.
        if (!(error instanceof ConnectionError) || this.#listeners === 0 || method === "initialize") throw error;
        return message;
      });
      if (said?.error) throw new AcpError(said.error);
      return said?.result as T;
    } finally {
      drop();
    }
  }

  async notify(method: string, params?: unknown): Promise<void> {
    await this.#post({ jsonrpc: "2.0", method, params });
  }

  /** Answers a request of the agent. */
  async respond(id: AcpId, answer: { result: unknown } | { error: NonNullable<AcpMessage["error"]> }): Promise<void> {
    await this.#post({ jsonrpc: "2.0", id, ...answer });
  }

  /** The agent's process group ends; what it asks is cancelled. */
  async close(): Promise<void> {
    await this.#http.json("DELETE", this.#path);
  }

  /** What the agent tells and asks, from the beginning or after an entry, each once, until the returned function is called. */
  listen(listener: AcpListener, options: FollowOptions & { after?: number } = {}): () => void {
    const { controller, release } = linkedController(options.signal);
    this.#listeners += 1;
    const run = async () => {
      try {
        const turns = new Map<AcpId, AbortController>();
        controller.signal.addEventListener("abort", () => [...turns.values()].forEach((turn) => turn.abort()));
        const stream = new Stream(this.#path, options.after ?? 0);
        const hear = async () => {
          for await (const messages of follow(this.#http, stream, { ...options, signal: controller.signal }))
            this.#hear(messages, listener, turns);
        };
        await hear().catch(async (error: unknown) => {
          // Who listens before the first request misses nothing.
          if (!(error instanceof NotFoundError)) throw error;
          await orAborted(this.#begun, controller.signal);
          await hear();
        });
      } catch (error) {
        if (!controller.signal.aborted) listener.error?.(error);
      } finally {
        this.#listeners -= 1;
        release();
      }
    };
    void run();
    return () => controller.abort();
  }

  #hear(messages: AcpMessage[], listener: AcpListener, turns: Map<AcpId, AbortController>): void {
    // What was asked and has ended in the same breath is told to nobody.
    const over = new Set(messages.filter(({ method }) => method === RESOLVED).map((one) => requestOf(one)));
    for (const message of messages) {
      listener.message?.(message);
      const { id, method, params } = message;
      if (method === undefined) this.#waiting.get(id ?? null)?.(message);
      else if (method === RESOLVED) {
        turns.get(requestOf(message))?.abort();
        turns.delete(requestOf(message));
      } else if (method === ENDED) this.#ended(params, listener);
      else if (id === undefined) {
        if (method === "session/update") listener.update?.(params as AcpUpdate);
      } else if (!over.has(id)) this.#asked(message, listener, turns);
    }
  }

  #ended(params: unknown, listener: AcpListener): void {
    const { cause } = (params ?? {}) as { cause?: unknown };
    const error = { code: -32000, message: "the agent has ended", data: cause };
    for (const take of this.#waiting.values()) take({ jsonrpc: "2.0", error });
    listener.ended?.(cause);
  }

  #asked(
    { id = null, method = "", params }: AcpMessage,
    listener: AcpListener,
    turns: Map<AcpId, AbortController>,
  ): void {
    const turn = new AbortController();
    turns.set(id, turn);
    const { signal } = turn;
    if (method === QUESTION && listener.question) {
      const respond = (result: object) => this.respond(id, { result });
      listener.question(params as AcpQuestion, {
        signal,
        answer: (answers, more = {}) => respond({ status: "answered", answers, ...more }),
        reject: (more = {}) => respond({ status: "rejected", ...more }),
      });
      return;
    }
    listener.request?.(method, params, {
      signal,
      respond: (result) => this.respond(id, { result }),
      fail: (error) => this.respond(id, { error }),
    });
  }

  #later(id: AcpId): { message: Promise<AcpMessage>; drop: () => void } {
    let take = (_: AcpMessage): void => undefined;
    const message = new Promise<AcpMessage>((resolve) => (take = resolve));
    this.#waiting.set(id, take);
    return { message, drop: () => void this.#waiting.delete(id) };
  }

  async #post(body: object, signal?: AbortSignal): Promise<AcpMessage | null> {
    const query = { agent: this.#agent };
    const response = await this.#http.send("POST", this.#path, "application/json", { query, body, signal });
    this.#begin();
    let text: string;
    try {
      text = (await response.text()).trim();
    } catch (cause) {
      signal?.throwIfAborted();
      throw new ConnectionError("the connection broke before the agent responded", {
        code: "connection_failed",
        cause,
      });
    }
    return text === "" ? null : (JSON.parse(text) as AcpMessage);
  }
}

function requestOf({ params }: AcpMessage): AcpId {
  return (params as { requestId?: AcpId } | undefined)?.requestId ?? null;
}

class Stream implements Stored<AcpMessage> {
  #number: number;

  constructor(
    readonly path: string,
    after: number,
  ) {
    this.#number = after;
  }

  query(): undefined {
    return undefined;
  }

  get headers(): Record<string, string> {
    return { "last-event-id": String(this.#number) };
  }

  take(frame: Frame): AcpMessage | null {
    const number = Number(frame.id ?? Number.NaN);
    if (!Number.isSafeInteger(number) || number <= this.#number) return null;
    this.#number = number;
    return frame.event === "message" || frame.event === "response" ? dataOf<AcpMessage>(frame) : null;
  }
}
