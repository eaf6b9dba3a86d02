/** Which of two views of a question is the later one. Responses and the stream race each other; an older view must not win. */

import type { Question } from "../api.ts";

const RANK = { queued: 1, sent: 2, confirmed: 3, failed: 3 } as const;

/** How far a question has come: open, settled, written to its agent, delivered or not. */
function progress({ status, delivery }: Question): number {
  if (status === "requested") return -1;
  return delivery ? RANK[delivery.state] : 0;
}

/** A question that was opened again after an answer that did not arrive has one try more. */
function tries({ failedTries }: Question): number {
  return failedTries?.at(-1)?.number ?? 0;
}

export function isOlder(question: Question, known: Question): boolean {
  if (tries(question) !== tries(known)) return tries(question) < tries(known);
  return progress(question) < progress(known);
}
