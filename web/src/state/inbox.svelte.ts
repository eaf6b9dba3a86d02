/**
 * Every question that this page knows, live. The client lists the open ones and follows the log from there without a gap;
 * this keeps what has ended since as well, because a person may be looking at it.
 * In: the hub. Out: open questions, oldest first, and how well we hear the hub.
 */

import { SvelteMap } from "svelte/reactivity";

import { isOlder } from "../answer/newer.ts";
import { type AskdClient, type AskdEvent, NotFoundError, type Question } from "../api.ts";
import { followTogether, type News } from "./together.ts";

export type Light = "connecting" | "live" | "offline";

const LIGHTS = { connecting: "connecting", live: "live", lost: "offline" } as const;

export interface Listener {
  /** `leads` in one tab of the browser only. */
  asked(question: Question, leads: boolean): void;
  settled(question: Question): void;
  /** The ids of all open questions, after a list. */
  listed(open: ReadonlySet<string>): void;
  loggedOut(reason: string): void;
}

export class Inbox {
  light = $state<Light>("connecting");
  loaded = $state(false);
  /** Why the hub is not heard, where it is more than a lost connection. */
  trouble = $state("");
  /** Grows whenever sources or sessions may have changed, for pages that list them. */
  sessionsChanged = $state(0);
  /** Grows when the hub is heard again after a pause, for what was not loaded meanwhile. */
  heardAgain = $state(0);
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

  /** Follows the hub until the returned function is called. */
  follow(): () => void {
    return followTogether(this.hub, {
      hear: (news, leads) => this.#hear(news, leads),
      loggedOut: (reason) => this.listener.loggedOut(reason),
    });
  }

  #hear({ open, events, connection, trouble }: News, leads: boolean): void {
    if (open) this.#compare(open, leads);
    this.#apply(events, leads);
    // A list that was just read is as good as news; "connecting" is only said before the first one.
    if (connection === "live" && this.light === "offline") this.heardAgain += 1;
    if (connection !== "connecting" || !this.loaded) this.light = LIGHTS[connection];
    this.trouble = trouble;
    if (open) this.loaded = true;
  }

  #apply(events: AskdEvent[], leads: boolean): void {
    const unseen = new Set<string>();
    for (const event of events) {
      if ("session" in event) this.sessionsChanged += 1;
      if (!("question" in event)) continue;
      const before = this.#known.get(event.question.id);
      const isNew = before ? before.status !== "requested" : event.type === "question.requested";
      // A question is opened again when its answer could not be delivered.
      if (isNew && event.question.status === "requested") unseen.add(event.question.id);
      this.take(event.question);
    }
    // What was asked and has ended in the same breath is told to nobody.
    for (const id of unseen) {
      const question = this.#known.get(id);
      if (question?.status === "requested") this.listener.asked(question, leads);
    }
  }

  /** After a list: what we believed to be open and the hub does not list was settled, or is gone. What was asked while we heard nothing is told by its newest. */
  #compare(open: Question[], leads: boolean): void {
    const ids = new Set(open.map(({ id }) => id));
    const newest = open
      .filter(({ id }) => !this.#known.has(id))
      .sort((a, b) => a.seq - b.seq)
      .at(-1);
    for (const question of open) this.take(question);
    if (newest && this.loaded) this.listener.asked(newest, leads);
    if (leads) this.listener.listed(ids);
    for (const { id, status } of [...this.#known.values()]) {
      if (status === "requested" && !ids.has(id)) void this.#look(id);
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
