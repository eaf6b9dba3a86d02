/** A plan in the widget: rendered, or as text to change before it is approved, and the mode that the agent goes on in. */

import { clean } from "./safe-text.js";
import type { Question } from "./types.js";
import { button, element } from "./widget-dom.js";
import { bodyView, markdown } from "./widget-text.js";

export class PlanField {
  readonly root: HTMLElement;
  /** The button that turns the plan into text and back; null where there is nothing to edit. */
  readonly edit: HTMLButtonElement | null;
  readonly #body: HTMLElement | null;
  readonly #text = element("textarea", { rows: "14", class: "plan", "aria-label": "The plan, as you want it" });
  readonly #mode: HTMLSelectElement | null;

  constructor(
    private readonly question: Question,
    private readonly changed: () => void,
  ) {
    const { body, questions, nextModes } = question;
    this.#text.hidden = true;
    this.#text.value = body?.text ?? "";
    this.#body = body ? bodyView(body) : null;
    this.edit = body ? button("Edit first", () => this.#toggle(), { part: "edit" }) : null;
    const modes = (nextModes ?? []).map((mode) => element("option", { value: mode }, clean(mode)));
    this.#mode = modes.length > 0 ? element("select", {}, element("option", { value: "" }, "The agent's default"), ...modes) : null;
    this.root = element(
      "div",
      { class: "item" },
      element("div", { class: "question" }, markdown(questions[0]?.question ?? "")),
      this.#body,
      this.#text,
      this.#mode ? element("label", { class: "mode" }, element("span", { class: "soft" }, "Then go on in mode"), this.#mode) : null,
    );
  }

  get #editing(): boolean {
    return !this.#text.hidden;
  }

  #toggle(): void {
    this.#text.hidden = this.#editing;
    if (this.#body) this.#body.hidden = this.#editing;
    if (!this.#editing) this.#text.value = this.question.body?.text ?? "";
    if (this.edit) this.edit.textContent = this.#editing ? "Drop my edits" : "Edit first";
    if (this.#editing) this.#text.focus();
    this.changed();
  }

  /** What the button that approves says. */
  get approval(): string {
    return this.#editing ? "Approve with edits" : "Approve";
  }

  answer(): { answers: string[][]; editedPlan?: string; nextMode?: string } {
    return {
      answers: this.question.questions.map(() => ["approve"]),
      ...(this.#editing ? { editedPlan: this.#text.value } : {}),
      ...(this.#mode?.value ? { nextMode: this.#mode.value } : {}),
    };
  }

  typed(): string {
    return this.#editing && this.#text.value !== this.question.body?.text ? this.#text.value : "";
  }
}
