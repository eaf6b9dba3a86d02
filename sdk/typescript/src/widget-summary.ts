/** A question that has ended, in few words: what was given, by whom, and whether the agent has it. */

import { answerTexts, type Cause, type Question, type RejectMode } from "./types.js";
import { clean } from "./safe-text.js";
import { element } from "./widget-dom.js";

const CAUSES: Record<Cause["type"], string> = {
  agentWithdrew: "The agent took its question back.",
  agentExited: "The agent's process ended.",
  agentTimedOut: "The agent's own time-out was over: it went on without an answer.",
  turnAborted: "The turn that asked was aborted.",
  sessionEnded: "The conversation was ended.",
  sourceLost: "The agent can no longer be reached.",
  askerWithdrew: "The asker took its question back.",
  deadlinePassed: "The asker's deadline passed.",
};

const REJECTED: Record<RejectMode, string> = {
  decline: "Declined",
  cancel: "Call cancelled",
  interrupt: "Turn stopped",
};

export function summary(question: Question, typed: string): HTMLElement {
  const { outcome, delivery } = question;
  const waiting = delivery?.state === "queued" || delivery?.state === "sent";
  const lines: Node[] = [element("p", { class: "state", role: "status" }, title(question, waiting))];
  (outcome?.answers ?? []).forEach((answer, i) => {
    const item = question.questions[i];
    const given = outcome?.withheld?.includes(i)
      ? "kept secret"
      : answerTexts(answer).map(clean).join(", ") || "not answered";
    lines.push(
      element(
        "p",
        {},
        element("span", { class: "soft" }, `${clean(item?.header ?? item?.question ?? "")} `),
        element("strong", {}, given),
      ),
    );
    const note = outcome?.notes?.[i];
    if (note) lines.push(element("p", { class: "soft" }, `Note: ${clean(note)}`));
  });
  if (outcome?.editedPlan) lines.push(element("p", { class: "soft" }, "Approved with edits"));
  if (outcome?.nextMode) lines.push(element("p", { class: "soft" }, `Goes on in mode ${clean(outcome.nextMode)}`));
  if (outcome?.reason) lines.push(element("p", {}, clean(outcome.reason)));
  if (outcome?.cause) lines.push(element("p", { class: "soft" }, CAUSES[outcome.cause.type] ?? ""));
  if (outcome?.agentReceived) {
    const got = outcome.agentReceived.answers.map((answer) => answerTexts(answer).map(clean).join(", ")).join("; ");
    lines.push(element("p", { class: "problem" }, `The agent had taken another answer first: ${got}`));
  } else if (delivery?.state === "failed") {
    lines.push(
      element(
        "p",
        { class: "problem" },
        `Not delivered: ${clean(delivery.error?.detail ?? delivery.error?.reason ?? "")}`,
      ),
    );
  }
  if (typed !== "")
    lines.push(element("p", { class: "soft" }, "What you had typed:"), element("pre", { tabindex: "0" }, typed));
  return element("div", { class: "summary", part: "summary" }, ...lines);
}

function title(question: Question, waiting: boolean): string {
  const by = question.outcome?.by;
  const where = by?.surface === "agent" ? "in the agent's own screen" : by?.actor ? `by ${clean(by.actor)}` : "";
  if (waiting) return "Answer submitted, waiting for the agent…";
  switch (question.status) {
    case "answered":
      return `Answered ${where}`;
    case "rejected":
      return `${REJECTED[question.outcome?.mode ?? "decline"]} ${where}`;
    case "expired":
      return "Expired without an answer";
    default:
      return "No longer asked";
  }
}
