/**
 * The live transcript of a session, with the answers that were given in between. In: the hub and a session.
 * Out: lines in the order of time.
 */

import { type AskdClient, type Question, type TranscriptEntry, words } from "../api.ts";

export type Line = { kind: "entry"; at: string; entry: TranscriptEntry } | { kind: "answer"; at: string; question: Question };

/** Older lines are left to the hub, so that a chatty agent cannot fill the page's memory. */
const KEPT = 2000;

export class Transcript {
  entries = $state.raw<TranscriptEntry[]>([]);
  trimmed = $state(false);
  failure = $state("");
  readonly #stop = new AbortController();
  #batch: TranscriptEntry[] = [];

  constructor(
    private readonly hub: AskdClient,
    private readonly session: string,
  ) {}

  async follow(): Promise<void> {
    try {
      for await (const entry of this.hub.sessions.transcript(this.session, { signal: this.#stop.signal })) {
        if (entry.voice === "trimmed") this.trimmed = true;
        else this.#add(entry);
      }
    } catch (error) {
      if (!this.#stop.signal.aborted) this.failure = words(error);
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
    const given = answered.map((question): Line => ({ kind: "answer", at: question.outcome?.at ?? question.createdAt, question }));
    return [...said, ...given].sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
  }
}
