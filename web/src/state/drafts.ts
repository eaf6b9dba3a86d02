/** Drafts, kept in this browser per question, so that a reload, a lost connection or a hub restart costs no word. */

import type { Question } from "../api.ts";
import { type Draft, emptyDraft, isTouched, withoutSecrets } from "../answer/draft.ts";
import { keys, read, write } from "./storage.ts";

interface Kept {
  at: number;
  draft: Draft;
}

/** A draft that nobody came back to for this long is forgotten. */
const LIFE_MS = 30 * 24 * 3_600_000;

export function loadDraft(question: Question): Draft {
  const kept = read<Kept>(`draft.${question.id}`);
  const fresh = emptyDraft(question);
  if (!kept || kept.draft?.items?.length !== fresh.items.length) return fresh;
  const items = fresh.items.map((item, i) => ({ ...item, ...kept.draft.items[i] }));
  return { ...fresh, ...kept.draft, items };
}

export function saveDraft(question: Question, draft: Draft): void {
  const kept = withoutSecrets(question, draft);
  write(`draft.${question.id}`, isTouched(question, kept) ? { at: Date.now(), draft: kept } : null);
}

export function dropDraft(id: string): void {
  write(`draft.${id}`, null);
}

export function forgetOldDrafts(now = Date.now()): void {
  for (const key of keys("draft.")) {
    const kept = read<Kept>(key);
    if (!kept || now - kept.at > LIFE_MS) write(key, null);
  }
}
