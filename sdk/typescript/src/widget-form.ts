/**
 * The form of the widget, and what a person has filled in.
 *
 * In: a question. Out: elements, and what was given once a button is pressed. Nothing is sent by anything else.
 */

import type { FieldError, Question, RejectMode } from "./types.js";
import { clean, element } from "./widget-dom.js";
import { ItemField } from "./widget-item.js";

export type Given =
  | { answers: string[][]; notes?: (string | null)[]; editedPlan?: string }
  | { mode: RejectMode; reason?: string };

const EFFECTS: Record<RejectMode, [verb: string, effect: string]> = {
  decline: ["Decline", "The agent is told that you declined, with your reason, and goes on by itself."],
  cancel: ["Cancel the call", "The call that asked is aborted; the agent gets an error instead of an answer."],
  interrupt: ["Stop the turn", "The agent stops what it is doing now and waits for your next message."],
};

export class QuestionForm {
  readonly root: HTMLFormElement;
  readonly #items: ItemField[];
  readonly #problem = element("p", { class: "problem", role: "alert", hidden: true });
  readonly #submit = element("button", { type: "submit", class: "primary", part: "submit" });
  #pointedAt = false;
  #sent = false;

  constructor(
    private readonly question: Question,
    private readonly give: (given: Given) => void,
  ) {
    const plan = isPlan(question);
    this.#items = plan ? [] : question.questions.map((item, i) => new ItemField(item, i));
    this.#submit.textContent = plan ? "Approve" : "Submit";
    const body = question.body ? element("pre", { class: `body ${question.body.format}`, tabindex: "0" }, clean(question.body.text)) : null;
    const asked = plan ? element("p", { class: "question" }, clean(question.questions[0]?.question ?? "")) : null;
    this.root = element(
      "form",
      { part: "form", "aria-label": "Question of the agent", novalidate: true },
      asked,
      body,
      ...this.#items.map(({ root }) => root),
      this.#problem,
      element("div", { class: "buttons" }, this.#submit),
      this.#refusal(plan),
    );
    this.root.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#try(plan);
    });
    this.root.addEventListener("input", () => this.#forget());
  }

  #try(plan: boolean): void {
    if (plan) return this.give({ answers: this.question.questions.map(() => ["approve"]) });
    const answers = this.#items.map((item) => item.answer());
    const empty = this.#items.filter((_, i) => answers[i]?.length === 0);
    const required = empty.filter(({ item }) => item.required);
    if (required.length > 0 || (empty.length > 0 && !this.#pointedAt)) {
      for (const item of empty) item.complain(item.item.required ? "This needs an answer." : "Not answered yet.");
      this.#pointedAt = required.length === 0;
      if (this.#pointedAt) this.#submit.textContent = "Submit without the rest";
      empty[0]?.focus();
      return;
    }
    const notes = this.#items.map((item) => item.note());
    this.give(notes.some((note) => note !== null) ? { answers, notes } : { answers });
  }

  #refusal(plan: boolean): HTMLElement | null {
    const modes = this.question.rejectModes;
    if (modes.length === 0) return null;
    const reason = element("textarea", { rows: "2", "aria-label": plan ? "What should be different?" : "Reason, for the agent" });
    const buttons = modes.flatMap((mode) => {
      const [verb, effect] = EFFECTS[mode];
      const button = element("button", { type: "button", part: "reject" }, plan && mode === "decline" ? "Send back" : verb);
      button.addEventListener("click", () => this.give(reason.value.trim() === "" ? { mode } : { mode, reason: reason.value.trim() }));
      return [element("p", { class: "soft" }, effect), button];
    });
    return element("details", { part: "refusal" }, element("summary", {}, plan ? "Send back with feedback" : "Do not answer…"), reason, ...buttons);
  }

  #forget(): void {
    this.#problem.hidden = true;
    this.#pointedAt = false;
    for (const item of this.#items) item.complain(null);
    this.#submit.textContent = isPlan(this.question) ? "Approve" : "Submit";
  }

  complain(message: string, errors: FieldError[]): void {
    for (const { item, message: text } of errors) if (typeof item === "number") this.#items[item]?.complain(text);
    this.#problem.textContent = clean(message);
    this.#problem.hidden = false;
  }

  busy(busy: boolean): void {
    for (const button of this.root.querySelectorAll("button")) button.disabled = busy;
  }

  /** What was typed has arrived; it needs no rescue. */
  sent(): void {
    this.#sent = true;
  }

  /** Words that must not be lost if the question ends otherwise. */
  typed(): string {
    return this.#sent ? "" : this.#items.map((item) => item.typed()).filter(Boolean).join("\n\n");
  }
}

function isPlan(question: Question): boolean {
  return question.kind === "plan" && question.questions.length === 1 && question.questions[0]?.options.length === 1;
}
