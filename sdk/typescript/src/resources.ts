/**
 * Sessions, sources and tokens: what the hub sees, what it is connected to, and who may use it.
 *
 * In: ids and inputs. Out: the hub's records, or an `AskdError`.
 */

import { type Http, segment } from "./http.js";
import type { CallOptions } from "./questions.js";
import type { CreatedToken, LoginCode, Session, Source, Token, TokenInput } from "./types.js";

export class Sessions {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** The sessions seen, newest first. */
  async list(options: CallOptions & { live?: boolean | undefined; limit?: number | undefined } = {}): Promise<Session[]> {
    const { live, limit, signal } = options;
    return (await this.#http.json<{ sessions: Session[] }>("GET", "/v1/sessions", { query: { live, limit }, signal })).sessions;
  }

  get(id: string, options: CallOptions = {}): Promise<Session> {
    return this.#http.json("GET", `/v1/sessions/${segment(id)}`, options);
  }
}

export class Sources {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** What askd is or was connected to. */
  async list(options: CallOptions = {}): Promise<Source[]> {
    return (await this.#http.json<{ sources: Source[] }>("GET", "/v1/sources", options)).sources;
  }

  /** Detaches a source: its sessions end, and their open questions with them. */
  detach(id: string, options: CallOptions = {}): Promise<void> {
    return this.#http.json("DELETE", `/v1/sources/${segment(id)}`, options);
  }
}

export class Tokens {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** All tokens, without the tokens themselves. */
  async list(options: CallOptions = {}): Promise<Token[]> {
    return (await this.#http.json<{ tokens: Token[] }>("GET", "/v1/tokens", options)).tokens;
  }

  /** A new token, shown this once. Nobody can hand out a right that he lacks. */
  create(input: TokenInput, options: CallOptions = {}): Promise<CreatedToken> {
    return this.#http.json("POST", "/v1/tokens", { body: input, ...options });
  }

  /** The token is refused from now on. */
  revoke(id: string, options: CallOptions = {}): Promise<void> {
    return this.#http.json("DELETE", `/v1/tokens/${segment(id)}`, options);
  }

  /** A one-time code, and the link with it, for a browser to log in with the rights of this token. */
  loginCode(options: CallOptions = {}): Promise<LoginCode> {
    return this.#http.json("POST", "/v1/login-codes", options);
  }
}
