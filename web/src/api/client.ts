/** The hub as the inbox uses it. */

import { Problem } from "./problem.ts";
import { frames } from "./sse.ts";
import type {
  HubEvent,
  Question,
  QuestionList,
  QuestionQuery,
  Rejection,
  Reply,
  Session,
  Source,
} from "./types.ts";

/** An ordinary request that took longer has failed, as far as a person can tell. */
const PATIENCE_MS = 15_000;
/** The hub says something at least every ten seconds; two missed heartbeats mean a dead connection. */
const SILENCE_MS = 25_000;

interface Call {
  method?: "GET" | "POST" | "DELETE";
  body?: unknown;
  key?: string;
}

export class Hub {
  constructor(
    readonly token: string,
    readonly base = "",
  ) {}

  static async login(code: string, base = ""): Promise<string> {
    const { token } = await new Hub("", base).#json<{ token: string }>("/v1/login", { method: "POST", body: { code } });
    return token;
  }

  questions(query: QuestionQuery = {}): Promise<QuestionList> {
    const parameters = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined && value !== "") parameters.set(name, String(value));
    }
    return this.#json(`/v1/questions?${parameters.toString()}`);
  }

  question(id: string): Promise<Question> {
    return this.#json(`/v1/questions/${encodeURIComponent(id)}`);
  }

  native(id: string): Promise<unknown> {
    return this.#json(`/v1/questions/${encodeURIComponent(id)}/native`);
  }

  /** `key` makes it safe to send the same answer again when nobody knows whether it arrived. */
  reply(id: string, reply: Reply, key: string): Promise<Question> {
    return this.#json(`/v1/questions/${encodeURIComponent(id)}/reply`, { method: "POST", body: reply, key });
  }

  reject(id: string, rejection: Rejection, key: string): Promise<Question> {
    return this.#json(`/v1/questions/${encodeURIComponent(id)}/reject`, { method: "POST", body: rejection, key });
  }

  ask(input: unknown): Promise<Question> {
    return this.#json("/v1/questions", { method: "POST", body: input });
  }

  async sessions(): Promise<Session[]> {
    return (await this.#json<{ sessions: Session[] }>("/v1/sessions?limit=500")).sessions;
  }

  async sources(): Promise<Source[]> {
    return (await this.#json<{ sources: Source[] }>("/v1/sources")).sources;
  }

  async detach(sourceId: string): Promise<void> {
    await this.#fetch(`/v1/sources/${encodeURIComponent(sourceId)}`, { method: "DELETE" });
  }

  /** Events after `after`, until the connection ends; `heard` is called at every sign of life. */
  async *events(after: number, signal: AbortSignal, heard: () => void): AsyncGenerator<HubEvent> {
    const silent = new AbortController();
    let timer = setTimeout(() => silent.abort(), SILENCE_MS);
    try {
      const response = await this.#send(`/v1/events?after=${after}`, {}, AbortSignal.any([signal, silent.signal]));
      if (!response.body) return;
      heard();
      for await (const frame of frames(response.body)) {
        clearTimeout(timer);
        timer = setTimeout(() => silent.abort(), SILENCE_MS);
        heard();
        if (frame.event !== "comment") yield JSON.parse(frame.data) as HubEvent;
      }
    } finally {
      clearTimeout(timer);
    }
  }

  async #json<T>(path: string, call: Call = {}): Promise<T> {
    const response = await this.#fetch(path, call);
    try {
      return (await response.json()) as T;
    } catch {
      throw new Problem(0, "cut_off", "the hub's answer was cut off");
    }
  }

  #fetch(path: string, call: Call): Promise<Response> {
    return this.#send(path, call, AbortSignal.timeout(PATIENCE_MS));
  }

  async #send(path: string, call: Call, signal: AbortSignal): Promise<Response> {
    const headers: Record<string, string> = { "askd-surface": "web" };
    if (this.token) headers["authorization"] = `Bearer ${this.token}`;
    if (call.key) headers["idempotency-key"] = call.key;
    const init: RequestInit = { method: call.method ?? "GET", headers, signal, cache: "no-store" };
    if (call.body !== undefined) {
      headers["content-type"] = "application/json";
      init.body = JSON.stringify(call.body);
    }
    let response: Response;
    try {
      response = await fetch(this.base + path, init);
    } catch (error) {
      const timedOut = error instanceof DOMException && error.name === "TimeoutError";
      throw new Problem(0, "unreachable", timedOut ? "the hub did not answer in time" : "the hub cannot be reached");
    }
    if (!response.ok) throw await Problem.of(response);
    return response;
  }
}
