/** Whether a settled question ended as this person wanted, or under his hands. */

import type { Item, Outcome, Question, Rejection } from "../api.ts";
import type { ExplicitReply, Given } from "./draft.ts";

/** What this browser sent last for a question. */
export type Sent = { reply: ExplicitReply } | { rejection: Rejection };

/**
 * Whether the outcome is what was sent, in every part. Only asked where the hub's own word is missing: after a receipt that was lost.
 * What does not come back, as a secret does not, proves nothing, so it is not ours.
 */
export function isOurs(question: Question, sent: Sent | null): boolean {
  const outcome = question.outcome;
  if (!outcome || !sent) return false;
  if ("rejection" in sent) {
    return (
      outcome.status === "rejected" &&
      outcome.mode === sent.rejection.mode &&
      (outcome.reason ?? "") === (sent.rejection.reason ?? "")
    );
  }
  return outcome.status === "answered" && sameAnswers(question, outcome, sent.reply) && sameRest(outcome, sent.reply);
}

function sameAnswers(question: Question, outcome: Outcome, reply: ExplicitReply): boolean {
  const given = outcome.answers ?? [];
  if ((outcome.withheld ?? []).length > 0 || given.length !== question.questions.length) return false;
  return given.every(({ picks, words }, i) => {
    const item = question.questions[i];
    const sent = item && asRead(item, reply.answers[i] ?? { picks: [], words: [] });
    return sent !== undefined && isSame([...picks].sort(), [...sent.picks].sort()) && isSame(words, sent.words);
  });
}

/** As the hub reads it: own words that are exactly an option's label are that option. */
function asRead({ options }: Item, { picks, words }: Given): Given {
  const named = (text: string) => options.find(({ label }) => label === text);
  return {
    picks: [...picks, ...words.flatMap((text) => named(text)?.value ?? [])],
    words: words.filter((text) => !named(text)),
  };
}

function sameRest(outcome: Outcome, reply: ExplicitReply): boolean {
  const notes = (all: (string | null)[] | null | undefined): string[] =>
    (reply.answers ?? []).map((_, i) => all?.[i] ?? "");
  return (
    isSame(notes(outcome.notes), notes(reply.notes)) &&
    (outcome.editedPlan ?? null) === (reply.editedPlan ?? null) &&
    (outcome.nextMode ?? null) === (reply.nextMode ?? null)
  );
}

function isSame(one: string[], other: string[]): boolean {
  return one.length === other.length && one.every((value, i) => value === other[i]);
}
