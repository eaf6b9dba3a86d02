/**
 * What was filled in and not sent, by question, for as long as the page lives: a chat that draws only what is on the screen removes an
 * element and makes a new one. Secrets are not kept.
 */

export interface ItemDraft {
  picks: string[];
  isOther: boolean;
  words: string;
  note: string;
}

export interface Draft {
  /** `null` for a secret. */
  items: (ItemDraft | null)[];
  /** The plan as it is being edited; `null` where it is not. */
  plan: string | null;
  mode: string;
  reason: string;
}

/** More than a person leaves half filled in. */
const KEPT = 200;

const drafts = new Map<string, Draft>();

export function keepDraft(key: string, draft: Draft | null): void {
  drafts.delete(key);
  if (draft) drafts.set(key, draft);
  const [oldest] = drafts.keys();
  if (drafts.size > KEPT && oldest !== undefined) drafts.delete(oldest);
}

export function draftOf(key: string): Draft | null {
  return drafts.get(key) ?? null;
}
