/**
 * Sessions, sources, agents and tokens: what the hub sees, what it is connected to, what it knows, and who may use it.
 *
 * In: ids and inputs. Out: the hub's records, or an `AskdError`.
 */

import { type Http, segment } from "./http.js";
import type { CallOptions } from "./questions.js";
import { transcript, type TranscriptOptions } from "./transcript.js";
import type {
  Agent,
  CreatedToken,
  HeldAgent,
  LoginCode,
  Session,
  SessionInput,
  Source,
  SourceInput,
  Token,
  TokenInput,
  TranscriptEntry,
  TranscriptTrimmed,
} from "./types.js";

export class Sessions {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** The sessions seen, newest first. */
  async list(
    options: CallOptions & { live?: boolean | undefined; limit?: number | undefined } = {},
  ): Promise<Session[]> {
    const { live, limit, signal } = options;
    return (await this.#http.json<{ sessions: Session[] }>("GET", "/v1/sessions", { query: { live, limit }, signal }))
      .sessions;
  }

  async get(id: string, options: CallOptions = {}): Promise<Session> {
    return this.#http.json("GET", `/v1/sessions/${segment(id)}`, options);
  }

  /** Starts an agent that askd manages. It outlives the hub. */
  start(input: SessionInput, options: CallOptions = {}): Promise<Session> {
    return this.#http.json("POST", "/v1/sessions", { body: input, ...options });
  }

  /** Says something to a managed session. */
  async say(id: string, text: string, options: CallOptions = {}): Promise<void> {
    return this.#http.json("POST", `/v1/sessions/${segment(id)}/messages`, { body: { text }, ...options });
  }

  /** What a managed agent said and says, until its session has ended. */
  transcript(
    id: string,
    options: TranscriptOptions = {},
  ): AsyncGenerator<TranscriptEntry | TranscriptTrimmed, void, void> {
    return transcript(this.#http, id, options);
  }

  /** Ends a session; a managed agent's process group ends with it. Open questions are cancelled. */
  async end(id: string, options: CallOptions = {}): Promise<void> {
    return this.#http.json("DELETE", `/v1/sessions/${segment(id)}`, options);
  }

  /** The managed agents whose processes are held. */
  async held(options: CallOptions = {}): Promise<HeldAgent[]> {
    return (await this.#http.json<{ holders: HeldAgent[] }>("GET", "/v1/holders", options)).holders;
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

  /** Attaches to a running server of an agent. Its `state` tells whether it could be reached; askd goes on trying. */
  attach(input: SourceInput, options: CallOptions = {}): Promise<Source> {
    return this.#http.json("POST", "/v1/sources", { body: input, ...options });
  }

  /** Detaches a source: its sessions end, and their open questions with them. */
  async detach(id: string, options: CallOptions = {}): Promise<void> {
    return this.#http.json("DELETE", `/v1/sources/${segment(id)}`, options);
  }
}

export class Agents {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** The agents that askd knows. `proven` was seen working with that very program, `declared` is what it says of itself. */
  async list(options: CallOptions = {}): Promise<Agent[]> {
    return (await this.#http.json<{ agents: Agent[] }>("GET", "/v1/agents", options)).agents;
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
  async revoke(id: string, options: CallOptions = {}): Promise<void> {
    return this.#http.json("DELETE", `/v1/tokens/${segment(id)}`, options);
  }

  /** A one-time code, and the link with it, for a browser to log in with the rights of this token. */
  loginCode(options: CallOptions = {}): Promise<LoginCode> {
    return this.#http.json("POST", "/v1/login-codes", options);
  }
}
