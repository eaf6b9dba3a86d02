/** Where a person stands with a question, in the words of the table of keys. Pure. */

import type { KeyState } from "askd/keys";

import type { Question } from "../api.ts";
import { type Draft, hasOwn, unanswered } from "./draft.ts";

export interface Stand {
  question: Question;
  draft: Draft;
  sending: boolean;
  rejecting: boolean;
  /** The items that were pointed at because they have no answer. */
  pointedAt: number[];
  /** Whether the person has left his own words by Escape, and done nothing since. */
  left: boolean;
  /** Whether all answers are shown once more. */
  inReview: boolean;
}

export function keyState({ question, draft, sending, rejecting, pointedAt, left, inReview }: Stand): KeyState {
  if (question.status !== "requested") return "settled";
  if (sending) return "sending";
  if (rejecting) return "refusing";
  const missing = unanswered(question, draft);
  if (!hasOwn(question, draft)) return pointedAt.length > 0 ? "skipping" : "open";
  if (missing.length === 0) return inReview ? "review" : left ? "left" : "picked";
  return missing.every((index) => pointedAt.includes(index)) ? "asked" : "partial";
}
