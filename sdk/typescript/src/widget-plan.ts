/** A plan in the widget: rendered, or as text to change before it is approved, and the mode that the agent goes on in. */

import { clean } from "./safe-text.js";
import type { ItemAnswer, Question } from "./types.js";
import { button, element } from "./widget-dom.js";
import { bodyView, markdown } from "./widget-text.js";
import { say } from "./widget-words.js";

export class PlanField {
  readonly root: HTMLElement;
  /** The button that turns the plan into text and back; null where there is nothing to edit. */
  readonly edit: HTMLButtonElement | null;
  readonly #body: HTMLElement | null;
  readonly #text = element("textarea", { rows: "14", class: "plan", "aria-label": say.editor, part: "editor" });
  readonly #mode: HTMLSelectElement | null;

  constructor(
    private readonly question: Question,
    private readonly changed: () => void,
  ) {
    const { body, questions, nextModes } = question;
    this.#text.hidden = true;
    this.#text.value = body?.text ?? "";
    this.#body = body ? bodyView(body) : null;
    this.edit = body ? button(say.editFirst, () => this.#toggle(), { part: "edit" }) : null;
    const modes = (nextModes ?? []).map((mode) => element("option", { value: mode }, clean(mode)));
    this.#mode =
      modes.length > 0 ? element("select", {}, element("option", { value: "" }, say.agentsMode), ...modes) : null;
    this.root = element(
      "div",
      { class: "item" },
      element("div", { class: "question", part: "question", tabindex: "-1" }, markdown(questions[0]?.question ?? "")),
      this.#body ?? element("div", { class: "end" }),
      this.#text,
      this.#mode ? element("label", { class: "mode" }, element("span", { class: "soft" }, say.mode), this.#mode) : null,
    );
  }

  get #editing(): boolean {
    return !this.#text.hidden;
  }

  #toggle(): void {
    this.#text.hidden = this.#editing;
    if (this.#body) this.#body.hidden = this.#editing;
    if (!this.#editing) this.#text.value = this.question.body?.text ?? "";
    if (this.edit) this.edit.textContent = this.#editing ? say.dropEdits : say.editFirst;
    if (this.#editing && this.root.isConnected) this.#text.focus();
    this.changed();
  }

  /** What the button that approves says. */
  get approval(): string {
    const only = this.question.questions[0]?.options[0];
    const label = only && only.value !== "approve" ? clean(only.label) : say.approve;
    return this.#editing ? say.withEdits(label) : label;
  }

  /** What must be on the screen for the plan to be read: its end, or the field in which it is edited. */
  get end(): Element | null {
    return this.#editing ? this.#text : this.root.querySelector(".end");
  }

  answer(): { answers: ItemAnswer[]; editedPlan?: string; nextMode?: string } {
    return {
      // The only option of a plan is the one that approves it, whatever its value.
      answers: this.question.questions.map(({ options }) => ({
        picks: options.slice(0, 1).map(({ value }) => value),
        words: [],
      })),
      ...(this.#editing ? { editedPlan: this.#text.value } : {}),
      ...(this.#mode?.value ? { nextMode: this.#mode.value } : {}),
    };
  }

  /** The plan as it is being edited, and the mode. */
  draft(): { plan: string | null; mode: string } {
    return { plan: this.#editing ? this.#text.value : null, mode: this.#mode?.value ?? "" };
  }

  restore({ plan, mode }: { plan: string | null; mode: string }): void {
    if (plan !== null) {
      if (!this.#editing) this.#toggle();
      this.#text.value = plan;
    }
    if (this.#mode) this.#mode.value = mode;
  }

  typed(): string {
    return this.#editing && this.#text.value !== this.question.body?.text ? this.#text.value : "";
  }
}
