/** Drafts, kept in this browser per question, so that a reload, a lost connection or a hub restart costs no word. */

import type { Question } from "../api.ts";
import { type Draft, emptyDraft, withoutSecrets } from "../answer/draft.ts";
import { keys, read, write } from "./storage.ts";

interface Kept {
  at: number;
  draft: Draft;
}

/** A draft that nobody came back to for this long is forgotten. */
const LIFE_MS = 30 * 24 * 3_600_000;

/** The draft of one question as this tab knows it to be stored. Other tabs of the browser store drafts as well. */
export class KeptDraft {
  /** What this tab last stored, or read. */
  #known: string;

  constructor(private readonly question: Question) {
    this.#known = textOf(read<Kept>(this.#name));
  }

  get #name(): string {
    return `draft.${this.question.id}`;
  }

  load(): Draft {
    const kept = read<Kept>(this.#name);
    this.#known = textOf(kept);
    const fresh = emptyDraft(this.question);
    if (!kept || kept.draft?.items?.length !== fresh.items.length) return fresh;
    const items = fresh.items.map((item, i) => {
      const one = { ...item, ...kept.draft.items[i] };
      // A secret is never stored, so the one that the asker suggests stands in its field again.
      return this.question.questions[i]?.secret ? { ...item, note: one.note } : one;
    });
    return { ...fresh, ...kept.draft, items };
  }

  /** Stores what was changed in this tab. A tab in which nothing was changed leaves what another one has stored. */
  save(draft: Draft): void {
    if (!this.isChanged(draft)) return;
    const kept = this.#toKeep(draft);
    this.#known = textOf(kept);
    write(this.#name, kept);
  }

  isChanged(draft: Draft): boolean {
    return textOf(this.#toKeep(draft)) !== this.#known;
  }

  /** Forgets the draft, unless another tab has stored other words meanwhile. */
  drop(): void {
    if (textOf(read<Kept>(this.#name)) !== this.#known) return;
    this.#known = "";
    write(this.#name, null);
  }

  #toKeep(draft: Draft): Kept | null {
    const kept = withoutSecrets(this.question, draft);
    const empty = withoutSecrets(this.question, emptyDraft(this.question));
    return JSON.stringify(kept) === JSON.stringify(empty) ? null : { at: Date.now(), draft: kept };
  }
}

function textOf(kept: Kept | null): string {
  return kept ? JSON.stringify(kept.draft) : "";
}

export function forgetOldDrafts(now = Date.now()): void {
  for (const key of keys("draft.")) {
    const kept = read<Kept>(key);
    if (!kept || now - kept.at > LIFE_MS) write(key, null);
  }
}
