/**
 * The form of the widget, and what a person has filled in.
 *
 * In: a question. Out: elements, and what was given once a button is pressed. Nothing is sent by anything else.
 */

import { clean } from "./safe-text.js";
import type { FieldError, Question, RejectMode } from "./types.js";
import { button, element } from "./widget-dom.js";
import { ItemField } from "./widget-item.js";
import { PlanField } from "./widget-plan.js";
import { bodyView } from "./widget-text.js";

export type Given =
  | { answers: string[][]; notes?: (string | null)[]; editedPlan?: string; nextMode?: string }
  | { mode: RejectMode; reason?: string };

const EFFECTS: Record<RejectMode, [verb: string, effect: string]> = {
  decline: ["Decline", "The agent is told that you declined, with your reason, and goes on by itself."],
  cancel: ["Cancel the call", "The call that asked is aborted; the agent gets an error instead of an answer."],
  interrupt: ["Stop the turn", "The agent stops what it is doing now and waits for your next message."],
};

export class QuestionForm {
  readonly root: HTMLFormElement;
  readonly #plan: PlanField | null;
  readonly #items: ItemField[];
  readonly #problem = element("p", { class: "problem", role: "alert", hidden: true });
  readonly #submit = element("button", { type: "submit", class: "primary", part: "submit" });
  readonly #reason = element("textarea", { rows: "2" });
  #pointedAt = false;
  #sent = false;

  constructor(
    private readonly question: Question,
    private readonly give: (given: Given) => void,
  ) {
    this.#plan = isPlan(question) ? new PlanField(question, () => this.#forget()) : null;
    this.#items = this.#plan ? [] : question.questions.map((item, i) => new ItemField(item, i, question.kind !== "form"));
    this.root = element(
      "form",
      { part: "form", "aria-label": "Question of the agent", novalidate: true },
      this.#plan?.root ?? (question.body ? bodyView(question.body) : null),
      ...this.#items.map(({ root }) => root),
      this.#problem,
      element("div", { class: "buttons" }, this.#submit, this.#plan?.edit),
      this.#refusal(),
    );
    this.#forget();
    this.root.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#try();
    });
    this.root.addEventListener("input", () => this.#forget());
  }

  #try(): void {
    if (this.#plan) return this.give(this.#plan.answer());
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

  /** Not answering says what each way does to the agent before it does it. */
  #refusal(): HTMLElement | null {
    const modes = this.question.rejectModes;
    if (modes.length === 0) return null;
    const label = this.#plan ? "What should be different?" : "Reason, for the agent";
    const ways = modes.map((mode) => {
      const [verb, effect] = EFFECTS[mode];
      const refuse = (): void => {
        const reason = this.#reason.value.trim();
        this.give(reason === "" ? { mode } : { mode, reason });
      };
      const name = this.#plan && mode === "decline" ? "Send back" : verb;
      return element("div", { class: "way" }, button(name, refuse, { part: "reject" }), element("p", { class: "soft" }, effect));
    });
    const summary = element("summary", {}, this.#plan ? "Send back with feedback…" : "Do not answer…");
    return element("details", { part: "refusal" }, summary, element("label", {}, element("span", { class: "soft" }, label), this.#reason), ...ways);
  }

  #forget(): void {
    this.#problem.hidden = true;
    this.#pointedAt = false;
    for (const item of this.#items) item.complain(null);
    this.#submit.textContent = this.#plan ? this.#plan.approval : "Submit";
  }

  complain(message: string, errors: FieldError[]): void {
    for (const { item, message: text } of errors) if (typeof item === "number") this.#items[item]?.complain(text);
    this.#problem.textContent = clean(message);
    this.#problem.hidden = false;
  }

  busy(busy: boolean): void {
    for (const one of this.root.querySelectorAll("button")) one.disabled = busy;
  }

  /** What was typed has arrived; it needs no rescue. */
  sent(): void {
    this.#sent = true;
  }

  /** Words that must not be lost if the question ends otherwise. */
  typed(): string {
    if (this.#sent) return "";
    const words = [...this.#items.map((item) => item.typed()), this.#plan?.typed() ?? "", this.#reason.value.trim()];
    return words.filter(Boolean).join("\n\n");
  }
}

function isPlan(question: Question): boolean {
  return question.kind === "plan" && question.questions.length === 1 && question.questions[0]?.options.length === 1;
}
