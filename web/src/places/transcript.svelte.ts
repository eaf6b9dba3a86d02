/**
 * The live transcript of a session, with the answers that were given in between. In: the hub and a session.
 * Out: lines in the order of time.
 */

import { type AskdClient, type Question, type TranscriptEntry, words } from "../api.ts";

export type Line =
  | { kind: "entry"; at: string; entry: TranscriptEntry }
  | { kind: "answer"; at: string; question: Question };

/** Older lines are left to the hub, so that a chatty agent cannot fill the page's memory. */
const KEPT = 2000;

export class Transcript {
  entries = $state.raw<TranscriptEntry[]>([]);
  trimmed = $state(false);
  failure = $state("");
  readonly #stop = new AbortController();
  #batch: TranscriptEntry[] = [];
  /** The number of the newest entry that was read. */
  #newest = 0;

  constructor(
    private readonly hub: AskdClient,
    private readonly session: string,
  ) {}

  /** Reads on while the page can be seen: a hidden tab must not hold one of the few connections that a browser opens to a host. */
  async follow(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      if (document.hidden)
        await new Promise((seen) => document.addEventListener("visibilitychange", seen, { once: true }));
      const pause = new AbortController();
      const hide = (): void => {
        if (document.hidden) pause.abort();
      };
      document.addEventListener("visibilitychange", hide);
      const signal = AbortSignal.any([this.#stop.signal, pause.signal]);
      try {
        for await (const entry of this.hub.sessions.transcript(this.session, { after: this.#newest, signal })) {
          this.#newest = entry.voice === "trimmed" ? entry.through : entry.number;
          if (entry.voice === "trimmed") this.trimmed = true;
          else this.#add(entry);
        }
        if (!pause.signal.aborted) return;
      } catch (error) {
        if (signal.aborted) continue;
        this.failure = words(error);
        return;
      } finally {
        document.removeEventListener("visibilitychange", hide);
      }
    }
  }

  stop(): void {
    this.#stop.abort();
  }

  #add(entry: TranscriptEntry): void {
    // Many lines come at once; they are shown together.
    if (this.#batch.push(entry) === 1) setTimeout(() => this.#show(), 0);
  }

  #show(): void {
    const all = [...this.entries, ...this.#batch];
    this.#batch = [];
    if (all.length > KEPT) this.trimmed = true;
    this.entries = all.slice(-KEPT);
  }

  lines(answered: Question[]): Line[] {
    const said = this.entries.map((entry): Line => ({ kind: "entry", at: entry.at, entry }));
    const given = answered.map(
      (question): Line => ({ kind: "answer", at: question.outcome?.at ?? question.createdAt, question }),
    );
    return [...said, ...given].sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
  }
}
