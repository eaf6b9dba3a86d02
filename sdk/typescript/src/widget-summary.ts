/** A question that has ended: what was asked, what was given, by whom and when, and whether the agent has it. */

import { isTravelling } from "./newer.js";
import { clean } from "./safe-text.js";
import { answerTexts, type Item, type Question, type ShownAnswer } from "./types.js";
import { element } from "./widget-dom.js";
import { agentName } from "./widget-head.js";
import { moment, say } from "./widget-words.js";

/** What the person had filled in here, and was not sent or not taken. */
export interface Unused {
  picks: string[];
  typed: string;
}

export function summary(question: Question, unused: Unused, isHere: boolean): HTMLElement {
  const { outcome, delivery, body } = question;
  const soft = (text: string) => element("p", { class: "soft", dir: "auto" }, text);
  const lines: Node[] = [
    element(
      "p",
      { class: "state", part: "state", role: "status" },
      title(question, isHere),
      outcome ? element("span", { class: "soft" }, ` ${agentName(question.agent)}, ${moment(outcome.at)}`) : null,
    ),
  ];
  const first = body && body.format !== "markdown" ? clean(body.text).split("\n", 1)[0] : undefined;
  if (first) lines.push(element("code", { class: "first", part: "body" }, first));
  question.questions.forEach((item, i) => {
    const answer = outcome?.answers?.[i];
    lines.push(asked(item, answer, outcome?.withheld?.includes(i) ?? false));
    const note = outcome?.notes?.[i];
    if (note) lines.push(soft(say.noteWas(clean(note))));
  });
  if (outcome?.editedPlan) lines.push(soft(say.approvedWithEdits));
  if (outcome?.nextMode) lines.push(soft(say.goesOn(clean(outcome.nextMode))));
  if (outcome?.reason) lines.push(element("p", { dir: "auto" }, clean(outcome.reason)));
  if (outcome?.cause) lines.push(soft(say.causes[outcome.cause.type] ?? ""));
  if (outcome?.agentReceived) {
    const got = outcome.agentReceived.answers.map((answer) => given(answer)).join("; ");
    lines.push(element("p", { class: "problem", part: "problem" }, say.another(got)));
  } else if (delivery?.state === "failed") {
    const { reason, detail } = delivery.error ?? {};
    const text = reason ? (say.undelivered[reason] ?? "") : "";
    lines.push(element("p", { class: "problem", part: "problem" }, text));
    // What the hub says more exactly.
    if (detail) lines.push(soft(clean(detail)));
  }
  if (unused.picks.length > 0) lines.push(soft(say.notUsed(unused.picks.map(clean).join(", "))));
  if (unused.typed !== "") lines.push(soft(say.typed), element("pre", { tabindex: "0", dir: "auto" }, unused.typed));
  return element("div", { class: "summary", part: "summary", tabindex: "-1" }, ...lines);
}

/** One item: its text, what was given, and the options among which that was, folded. */
function asked(item: Item, answer: ShownAnswer | undefined, isWithheld: boolean): HTMLElement {
  const text = isWithheld ? say.secret : answer ? given(answer) || say.skipped : null;
  const options = item.options.map((option) => {
    const isPicked = answer?.picks.includes(option.value) ?? false;
    return element(
      "li",
      { class: isPicked ? "picked" : null },
      clean(option.label),
      isPicked ? ` (${say.picks})` : null,
    );
  });
  return element(
    "div",
    { class: "asked", part: "asked" },
    element(
      "p",
      { dir: "auto" },
      item.header ? element("span", { class: "soft" }, `${clean(item.header)}: `) : null,
      clean(item.question),
    ),
    text === null ? null : element("p", { dir: "auto" }, element("strong", { part: "answer" }, text)),
    options.length > 1
      ? element(
          "details",
          {},
          element("summary", {}, say.options(options.length)),
          element("ul", { dir: "auto" }, ...options),
        )
      : null,
  );
}

function given(answer: ShownAnswer): string {
  return answerTexts(answer).map(clean).join(", ");
}

function title(question: Question, isHere: boolean): string {
  const by = question.outcome?.by;
  let who = "";
  if (isHere) who = say.by(say.you);
  else if (by?.surface === "agent") who = say.onAgentsScreen;
  else if (by?.actor) who = say.by(clean(by.actor));
  if (isTravelling(question)) return say.onItsWay;
  switch (question.status) {
    case "answered":
      return say.answered(who);
    case "rejected":
      return say.rejected[question.outcome?.mode ?? "decline"](who);
    case "expired":
      return say.expired;
    default:
      return say.cancelled;
  }
}
