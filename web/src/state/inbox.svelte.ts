/**
 * Every question that this page knows, live. The client lists the open ones and follows the log from there without a gap;
 * this keeps what has ended since as well, because a person may be looking at it.
 * In: the hub. Out: open questions, oldest first, and how well we hear the hub.
 */

import { SvelteMap } from "svelte/reactivity";

import { isOlder } from "../answer/newer.ts";
import { type AskdClient, type AskdEvent, NotFoundError, type OpenState, type Question, words } from "../api.ts";

export type Light = "connecting" | "live" | "offline";

const LIGHTS = { connecting: "connecting", live: "live", lost: "offline", stopped: "offline" } as const;

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

  constructor(
    private readonly hub: AskdClient,
    private readonly listener: Listener,
  ) {}

  get(id: string): Question | undefined {
    return this.#known.get(id);
  }

  /** The questions of one session that are known here, oldest first. */
  of(session: string): Question[] {
    return [...this.#known.values()].filter(({ sessionId }) => sessionId === session).sort((a, b) => a.seq - b.seq);
  }

  /** Takes what a request just returned; an older view of the same question never replaces a newer one. */
  take(question: Question): void {
    const before = this.#known.get(question.id);
    if (before && isOlder(question, before)) return;
    if (before && JSON.stringify(before) === JSON.stringify(question)) return;
    this.#known.set(question.id, question);
    if (before?.status === "requested" && question.status !== "requested") this.listener.settled(question);
  }

  /** Follows the hub until the returned function is called. The browser's word about its network comes before any time-out. */
  follow(): () => void {
    let stop = this.#watch();
    const offline = (): void => {
      stop();
      this.light = "offline";
    };
    const online = (): void => {
      stop();
      stop = this.#watch();
    };
    addEventListener("offline", offline);
    addEventListener("online", online);
    return () => {
      removeEventListener("offline", offline);
      removeEventListener("online", online);
      stop();
    };
  }

  #watch(): () => void {
    return this.hub.watchOpen((state, events) => {
      if (events.length > 0) this.#apply(events);
      else this.#compare(state);
      // A list that was just read is as good as news; "connecting" is only said before the first one.
      if (state.connection !== "connecting" || !this.loaded) this.light = LIGHTS[state.connection];
      if (state.seq !== null) this.loaded = true;
      if (state.connection === "stopped") this.listener.refused(words(state.error));
    });
  }

  #apply(events: AskdEvent[]): void {
    for (const event of events) {
      if ("session" in event) this.sessionsChanged += 1;
      if (!("question" in event)) continue;
      const unseen = !this.#known.has(event.question.id);
      this.take(event.question);
      if (unseen && event.type === "question.requested") this.listener.asked(event.question);
    }
  }

  /** After a list: what we believed to be open and the hub does not list was settled, or is gone. What was asked while we heard nothing is told by its newest. */
  #compare(state: OpenState): void {
    if (state.seq === null) return;
    const newest = [...state.questions.values()].filter(({ id }) => !this.#known.has(id)).sort((a, b) => a.seq - b.seq).at(-1);
    for (const question of state.questions.values()) this.take(question);
    if (newest && this.loaded) this.listener.asked(newest);
    for (const { id, status } of [...this.#known.values()]) {
      if (status === "requested" && !state.questions.has(id)) void this.#look(id);
    }
  }

  async #look(id: string): Promise<void> {
    try {
      this.take(await this.hub.questions.get(id));
    } catch (error) {
      // Anything else is told by the light; the next list asks again.
      if (error instanceof NotFoundError) this.#known.delete(id);
    }
  }
}
