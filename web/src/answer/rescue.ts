/** Whether a settled question ended as this person wanted, or under his hands. */

import type { Outcome, Question, Rejection, Reply } from "../api.ts";

/** What this browser sent last for a question. */
export type Sent = { reply: Reply } | { rejection: Rejection };

export function isOurs(question: Question, sent: Sent | null): boolean {
  const outcome = question.outcome;
  if (!outcome || !sent) return false;
  if ("rejection" in sent) {
    return outcome.status === "rejected" && outcome.mode === sent.rejection.mode && (outcome.reason ?? "") === (sent.rejection.reason ?? "");
  }
  return outcome.status === "answered" && sameAnswers(question, outcome, sent.reply);
}

function sameAnswers(question: Question, outcome: Outcome, reply: Reply): boolean {
  const withheld = new Set(outcome.withheld ?? []);
  return (outcome.answers ?? []).every((given, i) => {
    // A secret answer does not come back, so it can neither prove nor disprove.
    if (withheld.has(i)) return true;
    const ours = reply.answers[i] ?? [];
    return given.length === ours.length && given.every((value, j) => value === ours[j]);
  }) && question.questions.length === (outcome.answers ?? []).length;
}
