/** Which of two views of one question is the newer one: the response to a request and the stream race each other. */

import type { Question } from "./types.js";

/** How far a question has come: open, settled, written to its agent, delivered or not. */
function progress({ status, delivery }: Question): number {
  if (status === "requested") return -1;
  return delivery ? { queued: 1, sent: 2, confirmed: 3, failed: 3 }[delivery.state] : 0;
}

/** How often it was opened again because an answer did not arrive. */
export function triesOf({ failedTries }: Question): number {
  return failedTries?.at(-1)?.number ?? 0;
}

export function isOlder(question: Question, known: Question): boolean {
  if (triesOf(question) !== triesOf(known)) return triesOf(question) < triesOf(known);
  return progress(question) < progress(known);
}

/** Whether the answer is on its way to the agent. */
export function isTravelling({ delivery }: Question): boolean {
  return delivery?.state === "queued" || delivery?.state === "sent";
}

/** Whether nothing about it can change any more. */
export function isOver(question: Question): boolean {
  return question.status !== "requested" && !isTravelling(question);
}
