/**
 * The one place that talks HTTP.
 *
 * In: method, path, query, body. Out: parsed JSON or a stream's response, or an `AskdError`. It tries once; who may try again decides elsewhere.
 */

import { linkedController } from "./backoff.js";
import { AskdError, ConnectionError, fromProblem, fromStatus, isProblem, NotFoundError } from "./errors.js";
import type { Surface } from "./types.js";

export interface HttpOptions {
  url?: string | URL | undefined;
  token?: string | undefined;
  surface?: Surface | undefined;
  fetch?: typeof fetch | undefined;
}

export interface RequestOptions {
  query?: Record<string, string | number | boolean | null | undefined> | undefined;
  body?: unknown;
  idempotencyKey?: string | undefined;
  headers?: Record<string, string> | undefined;
  /** Seconds that the hub may wait before it answers. */
  wait?: number | undefined;
  /** Milliseconds after the `wait` in which the hub must have answered, if less than it would get. */
  patience?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** Where `askd up` listens unless told otherwise. */
const DEFAULT_URL = "http://127.0.0.1:2753";
/** A hub that has not answered so long after it could have counts as not reachable: a dead connection says nothing by itself. */
const PATIENCE_MS = 30_000;
/** No longer than this, whatever a proxy asks for: the hub itself says one second. */
const LONGEST_RETRY_AFTER_S = 60;
/** Accepted, and done: there is nothing to read. */
const EMPTY_STATUS = [202, 204];

/** A request that takes longer may be waiting for a connection, which the page's stream then gives to it: a person waits for a write. */
const PROMPT_WRITE_MS = 250;
const PROMPT_READ_MS = 1000;

export class Http {
  readonly base: string;
  /** What is the same for clients of the same hub with the same rights, whose requests go the same way. */
  readonly shared: string;
  /** Whether another tab's requests go the same way: not those of a function that the caller gave. */
  readonly isCommon: boolean;
  /** Lets go of a connection for a request of this client, until the returned call. Set by the module that holds streams open. */
  static giveWay: ((http: Http) => (() => void) | undefined) | undefined;
  readonly #headers: Headers;
  readonly #fetch: typeof fetch;

  constructor(options: HttpOptions) {
    const url = new URL(options.url ?? globalThis.location?.origin ?? DEFAULT_URL);
    if (!["http:", "https:"].includes(url.protocol) || url.username !== "" || url.password !== "") {
      throw new TypeError("the address of the hub must be http or https, without a user name");
    }
    this.base = url.origin + url.pathname.replace(/\/+$/, "");
    this.#headers = new Headers();
    if (options.token !== undefined) this.#headers.set("authorization", `Bearer ${options.token}`);
    if (options.surface !== undefined) this.#headers.set("askd-surface", options.surface);
    this.shared = `${this.base}\n${options.token ?? ""}\n${options.fetch ? numberOf(options.fetch) : 0}`;
    this.isCommon = options.fetch === undefined;
    this.#fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
  }

  /** A request that is answered with JSON, or with nothing. */
  async json<T>(method: string, path: string, options: RequestOptions = {}): Promise<T> {
    const { controller, release } = linkedController(options.signal);
    const { signal } = controller;
    const silent = () => controller.abort(new ConnectionError("the hub is silent", { code: "connection_failed" }));
    const patience = Math.min(PATIENCE_MS, options.patience ?? PATIENCE_MS);
    const timer = setTimeout(silent, patience + (options.wait ?? 0) * 1000);
    let takeBack: (() => void) | undefined;
    const prompt = method === "GET" ? PROMPT_READ_MS : PROMPT_WRITE_MS;
    const slow = setTimeout(() => (takeBack = Http.giveWay?.(this)), prompt + (options.wait ?? 0) * 1000);
    try {
      const query = { ...options.query, wait: options.wait };
      const response = await this.send(method, path, "application/json", { ...options, query, signal });
      const text = await this.#read(response, signal);
      if (EMPTY_STATUS.includes(response.status)) return undefined as T;
      const value = parse(text);
      if (value === undefined) throw unexpected(response, "its body is not JSON");
      // A request that waited has sent its status long before; what went wrong after that is in the body.
      if (options.wait && isProblem(value)) throw fromProblem(value);
      return value as T;
    } finally {
      clearTimeout(timer);
      clearTimeout(slow);
      takeBack?.();
      release();
    }
  }

  /** A request whose body the caller reads as it comes. Anything but success is an error. */
  async send(method: string, path: string, accept: string, options: RequestOptions = {}): Promise<Response> {
    const headers = new Headers(this.#headers);
    headers.set("accept", accept);
    for (const [name, value] of Object.entries(options.headers ?? {})) headers.set(name, value);
    const init: RequestInit = { method, headers, credentials: "omit", cache: "no-store" };
    if (options.body !== undefined) {
      headers.set("content-type", "application/json");
      init.body = JSON.stringify(options.body);
    }
    if (options.idempotencyKey !== undefined) headers.set("idempotency-key", options.idempotencyKey);
    if (options.signal) init.signal = options.signal;
    // Called without a receiver, because browsers refuse to run theirs as somebody's method. And outside of the `try`: a network
    // failure is a rejection, so what is thrown here is a fault of the given function, which no second try would mend.
    const fetch = this.#fetch;
    const request = fetch(this.base + path + queryText(options.query), init);
    let response: Response;
    try {
      response = await request;
    } catch (cause) {
      throw this.#broken(cause, options.signal);
    }
    if (!response.ok) throw await this.#refusal(response, options.signal);
    return response;
  }

  async #read(response: Response, signal: AbortSignal | undefined): Promise<string> {
    try {
      return await response.text();
    } catch (cause) {
      throw this.#broken(cause, signal);
    }
  }

  async #refusal(response: Response, signal: AbortSignal | undefined): Promise<AskdError> {
    const value = parse(await this.#read(response, signal));
    const seconds = Number(response.headers.get("retry-after") ?? 0);
    const retryAfter = Number.isFinite(seconds) ? Math.min(Math.max(seconds, 0), LONGEST_RETRY_AFTER_S) * 1000 : 0;
    if (isProblem(value)) return fromProblem(value, retryAfter);
    const { status } = response;
    return fromStatus(status, `the hub answered ${status}`, { code: `http_${status}`, status, retryAfter });
  }

  /** A caller's own abort passes as it is; everything else that breaks a request is the connection. */
  #broken(cause: unknown, signal: AbortSignal | undefined): unknown {
    if (signal?.aborted) return signal.reason;
    const { message, cause: deeper } = cause instanceof Error ? cause : { message: String(cause), cause: undefined };
    // Node hides what happened behind "fetch failed".
    const why = deeper instanceof Error && "code" in deeper ? `${message} (${deeper.code})` : message;
    return new ConnectionError(`cannot reach the hub at ${this.base}: ${why}`, { code: "connection_failed", cause });
  }
}

const numbers = new WeakMap<typeof fetch, number>();
let count = 0;

/** Tells functions apart. */
function numberOf(given: typeof fetch): number {
  const number = numbers.get(given) ?? (count += 1);
  numbers.set(given, number);
  return number;
}

export function unexpected(response: Response, why: string): AskdError {
  const { status } = response;
  return new AskdError(`this is not askd's answer: ${why}`, { code: "unexpected_response", status });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function queryText(query: RequestOptions["query"]): string {
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== null);
  if (given.length === 0) return "";
  return `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
}

/** An id as one segment of a path. What cannot be one (it would lead to another address) cannot be found either. */
export function segment(id: string): string {
  try {
    if (!["", ".", ".."].includes(id)) return encodeURIComponent(id);
  } catch {
    // Half of a character: no id has that.
  }
  throw new NotFoundError("there is nothing with this id", { code: "not_found", status: 404 });
}
