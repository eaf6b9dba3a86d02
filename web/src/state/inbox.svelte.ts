/**
 * Every question that this page knows, live. A list gives the state of now and its place in the log; the stream goes on
 * from there without a gap. In: the hub. Out: open questions, oldest first, and how well we hear the hub.
 */

import { SvelteMap } from "svelte/reactivity";

import type { Hub } from "../api/client.ts";
import { Problem } from "../api/problem.ts";
import type { HubEvent, Question, Session } from "../api/types.ts";

export type Light = "connecting" | "live" | "offline";

const PAGE = 500;
const FIRST_RETRY_MS = 300;
const LONGEST_RETRY_MS = 5000;

export interface Listener {
  asked(question: Question): void;
  settled(question: Question): void;
  refused(reason: string): void;
}

export class Inbox {
  light = $state<Light>("connecting");
  loaded = $state(false);
  /** Grows whenever sources or sessions may have changed, for pages that list them. */
  sessionsChanged = $state(0);
  readonly #known = new SvelteMap<string, Question>();
  readonly open = $derived(
    [...this.#known.values()].filter(({ status }) => status === "requested").sort((a, b) => a.seq - b.seq),
  );
  #cursor: number | null = null;
  #stop = new AbortController();
  #hurry: (() => void) | null = null;

  constructor(
    private readonly hub: Hub,
    private readonly listener: Listener,
  ) {}

  get(id: string): Question | undefined {
    return this.#known.get(id);
  }

  /** Takes what a request just returned; an older view of the same question never replaces a newer one. */
  take(question: Question): void {
    const before = this.#known.get(question.id);
    if (before && before.status !== "requested" && question.status === "requested") return;
    if (before && JSON.stringify(before) === JSON.stringify(question)) return;
    this.#known.set(question.id, question);
    if (before?.status === "requested" && question.status !== "requested") this.listener.settled(question);
  }

  async run(): Promise<void> {
    let failures = 0;
    const online = (): void => this.#hurry?.();
    addEventListener("online", online);
    while (!this.#stop.signal.aborted) {
      try {
        if (this.#cursor === null) await this.#load();
        await this.#follow(() => {
          failures = 0;
          this.light = "live";
        });
      } catch (error) {
        if (!this.#survives(error)) break;
      }
      if (this.#stop.signal.aborted) break;
      this.light = "offline";
      await this.#pause(Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** failures++));
    }
    removeEventListener("online", online);
  }

  stop(): void {
    this.#stop.abort();
    this.#hurry?.();
  }

  #survives(error: unknown): boolean {
    if (!(error instanceof Problem)) return true;
    if (error.status === 401 || error.status === 403) {
      this.listener.refused(error.message);
      return false;
    }
    // The cursor belongs to another store: begin again with a list.
    if (error.status === 400) this.#cursor = null;
    return true;
  }

  async #load(): Promise<void> {
    const open = new Set<string>();
    let cursor: string | null = null;
    let seq: number | null = null;
    do {
      const page = await this.hub.questions({ status: "requested", order: "asc", limit: PAGE, ...(cursor ? { cursor } : {}) });
      seq ??= page.seq;
      cursor = page.nextCursor;
      for (const question of page.questions) {
        open.add(question.id);
        this.take(question);
      }
    } while (cursor);
    await this.#refreshOthers(open);
    this.#cursor = seq;
    this.loaded = true;
  }

  /** What we believed to be open and the hub does not list was settled, or is gone. */
  async #refreshOthers(open: Set<string>): Promise<void> {
    for (const question of [...this.#known.values()]) {
      if (question.status !== "requested" || open.has(question.id)) continue;
      try {
        this.take(await this.hub.question(question.id));
      } catch (error) {
        if (!(error instanceof Problem) || error.status !== 404) throw error;
        this.#known.delete(question.id);
      }
    }
  }

  async #follow(heard: () => void): Promise<void> {
    for await (const event of this.hub.events(this.#cursor ?? 0, this.#stop.signal, heard)) this.#apply(event);
  }

  #apply(event: HubEvent): void {
    if (event.type === "log.trimmed") {
      this.#cursor = null;
      throw new Error("the log was trimmed; list again");
    }
    const unseen = event.question && !this.#known.has(event.question.id);
    if (event.question) this.take(event.question);
    if (event.question && unseen && event.type === "question.requested") this.listener.asked(event.question);
    if (event.session satisfies Session | undefined) this.sessionsChanged += 1;
    this.#cursor = event.seq;
  }

  #pause(millis: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, millis);
      this.#hurry = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
