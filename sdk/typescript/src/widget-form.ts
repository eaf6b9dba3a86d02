/**
 * The form of the widget, and what a person has filled in.
 *
 * In: a question. Out: elements, and what was given once a button is pressed. Nothing is sent by anything else.
 */

import { type Key, keyEffect, type KeyFocus, type KeyState } from "./keys.js";
import { clean } from "./safe-text.js";
import { Sight } from "./sight.js";
import type { FieldError, Item, ItemAnswer, Question, RejectMode } from "./types.js";
import { button, element } from "./widget-dom.js";
import type { Draft } from "./widget-drafts.js";
import { Head } from "./widget-head.js";
import { ItemField } from "./widget-item.js";
import { PlanField } from "./widget-plan.js";
import type { Unused } from "./widget-summary.js";
import { bodyView } from "./widget-text.js";
import { say } from "./widget-words.js";

export type Given =
  | { answers: ItemAnswer[]; notes?: (string | null)[]; editedPlan?: string; nextMode?: string }
  | { mode: RejectMode; reason?: string };

/** What of a form a page may leave out. */
export interface Without {
  notes: boolean;
  refusal: boolean;
}

export class QuestionForm {
  readonly root: HTMLElement;
  readonly #head: Head;
  readonly #plan: PlanField | null;
  readonly #items: ItemField[];
  readonly #problem = element("p", { class: "problem", part: "problem", role: "alert", hidden: true });
  readonly #submit = element("button", { type: "button", class: "primary", part: "submit" });
  readonly #hint = element("span", { class: "soft", part: "hint", role: "status" });
  readonly #reason = element("textarea", { rows: "2", part: "input", dir: "auto" });
  #sight = new Sight(() => this.#look());
  #isGone = false;
  #ways: HTMLDetailsElement | null = null;
  #pointedAt = false;
  /** Approval of the plan was picked by its key; the next Enter sends it. */
  #chosen = false;
  /** Own words were left by Escape: they may be half written, so the next Enter does not send them. */
  #left = false;
  #busy = false;
  #sent: "answer" | "refusal" | null = null;

  constructor(
    private readonly question: Question,
    private readonly give: (given: Given) => void,
    without: Without = { notes: false, refusal: false },
  ) {
    this.#head = new Head(question);
    // A permission is a word of one's own, not a text to comment; a secret has nothing to note.
    const isNoted = (item: Item) =>
      !without.notes && !item.secret && question.kind !== "form" && question.kind !== "permission";
    this.#plan = isPlan(question) ? new PlanField(question, () => this.#forget()) : null;
    this.#items = this.#plan ? [] : question.questions.map((item, i) => new ItemField(item, i, isNoted(item)));
    this.root = element(
      "div",
      { class: "form", part: "form", role: "group", "aria-label": this.#head.name },
      element("slot", { name: "head" }, this.#head.root),
      this.#plan?.root ?? (question.body ? bodyView(question.body) : null),
      ...this.#items.map(({ root }) => root),
      this.#problem,
      element("div", { class: "buttons" }, this.#submit, this.#plan?.edit, this.#hint),
      without.refusal ? null : this.#refusal(),
    );
    this.#forget();
    this.root.addEventListener("input", () => this.#forget());
    this.root.addEventListener("keydown", (event) => this.#key(event));
    this.#submit.addEventListener("click", (event) => this.#act("click", event));
    this.root.addEventListener("focusin", (event) => {
      if (isTyped(event.composedPath()[0])) this.#left = false;
    });
  }

  /** The form was just put into the document. */
  shown(): void {
    // What was taken out and put back is as new as one that was just drawn.
    if (this.#isGone) this.#sight = new Sight(() => this.#look());
    this.#isGone = false;
    this.#head.start();
    this.#sight.show(this.root, this.question.kind === "plan");
    this.#watch();
    this.#look();
  }

  /** The form has left the document. */
  gone(): void {
    this.#isGone = true;
    this.#head.stop();
    this.#sight.stop();
  }

  /** The question's text: the first thing to read, and nothing that a key acts on. */
  get text(): HTMLElement | null {
    return this.root.querySelector<HTMLElement>(".question");
  }

  #watch(): void {
    const end = this.#plan ? this.#plan.end : this.root.querySelector(".end");
    if (end) this.#sight.watch(end);
  }

  #look(): void {
    const unread = this.#sight.ready && !this.#sight.isPlanRead;
    if (unread) this.#hint.textContent = say.readFirst;
    else if (this.#chosen) this.#hint.textContent = say.picked;
    else if (this.#hint.textContent === say.readFirst || this.#hint.textContent === say.picked)
      this.#hint.textContent = "";
    const isStage = this.#state() === "skipping" || this.#state() === "asked";
    const rests = this.#busy || !this.#sight.ready || !this.#sight.isPlanRead || (isStage && !this.#sight.steady);
    this.#submit.setAttribute("aria-disabled", String(rests));
  }

  #state(): KeyState {
    if (this.#busy) return "sending";
    if (this.#ways?.open && this.#ways.contains(activeIn(this.root))) return "refusing";
    // Editing a plan is not approving it.
    if (this.#plan) return this.#chosen ? "picked" : "open";
    if (!this.#items.some((item) => item.hasOwn())) return this.#pointedAt ? "skipping" : "open";
    if (this.#items.every((item) => item.isAnswered)) return this.#left ? "left" : "picked";
    return this.#pointedAt ? "asked" : "partial";
  }

  #key(event: KeyboardEvent): void {
    if (event.defaultPrevented || event.altKey || event.isComposing) return;
    const target = event.composedPath()[0];
    if (target instanceof HTMLInputElement && target.classList.contains("filter")) return;
    const modified = event.ctrlKey || event.metaKey;
    if (modified && event.key !== "Enter") return;
    const option = /^[1-9]$/.test(event.key) ? Number(event.key) - 1 : null;
    let key: Key = "x";
    if (event.key === "Enter") key = event.repeat ? "held Enter" : modified ? "Ctrl+Enter" : "Enter";
    else if (option !== null) key = "1";
    else if (event.key === "s" || event.key === "Escape") key = event.key;
    if (key === "x") return;
    if (this.#act(key, event, focusOf(target, this.#submit), option ?? 0)) event.preventDefault();
  }

  /** Does what the table of keys says, and returns whether the key was the question's. */
  #act(key: Key, event: Event, focus?: KeyFocus, option = 0): boolean {
    const state = this.#state();
    const plan = this.#sight.plan ?? (this.#plan ? "fits" : undefined);
    const effect = keyEffect({ state, key, plan, focus, since: this.#sight.since(event.timeStamp, state, key) });
    if (effect === "send" && (this.#plan || state !== "open")) this.#try();
    else if (effect === "say" || effect === "send") this.#say(state);
    else if (effect === "pick") this.#pick(event, option);
    else if (effect === "refuse" && this.#ways) {
      this.#ways.open = true;
      this.#reason.focus();
    } else if (effect === "back") return this.#leave(event.composedPath()[0]);
    return effect !== "none";
  }

  /** Leaves a field, so that keys act on the question again. It sends nothing. */
  #leave(field: EventTarget | undefined): boolean {
    // What is being written there is no answer, and Enter must not make one of it.
    if (field === this.#reason || !isTyped(field)) return false;
    this.text?.focus({ preventScroll: true });
    // After the focus has moved: leaving a field is a change of it, too.
    this.#left = this.#items.some((item) => item.isOwnWords(field));
    return true;
  }

  #pick(event: Event, option: number): void {
    this.#left = false;
    if (!this.#plan) {
      const target = event.composedPath()[0];
      const item = this.#items.find(({ root }) => target instanceof Node && root.contains(target)) ?? this.#items[0];
      item?.pick(option);
    } else if (option === 0) {
      this.#chosen = true;
      this.#look();
      // Never the button that approves, where Space, which scrolls elsewhere, would be a click; and without a scroll, because picking
      // approval is not reading the plan.
      const focus = focusOf(event.composedPath()[0], this.#submit);
      if (focus !== undefined && focus !== "send") this.text?.focus({ preventScroll: true });
    }
  }

  #try(): void {
    // What was written for a refusal would be lost with an answer.
    if (this.#reason.value.trim() !== "") return this.complain(this.#plan ? say.unsentFeedback : say.unsentReason, []);
    if (this.#plan) return this.give(this.#plan.answer());
    const answers = this.#items.map((item) => item.answer());
    const notes = this.#items.map((item) => item.note());
    this.give(notes.some((note) => note !== null) ? { answers, notes } : { answers });
  }

  /** Says what is missing. Nothing is sent. */
  #say(state: KeyState): void {
    // A pick from before the plan was read does not wait for the next Enter.
    this.#chosen = false;
    if (state === "refusing" || !this.#sight.isPlanRead) return this.#look();
    if (this.#plan) {
      this.#hint.textContent = say.pressOne;
      return;
    }
    if (state === "left") {
      this.#hint.textContent = say.left;
      return;
    }
    const empty = this.#items.filter((item) => !item.isAnswered);
    const required = empty.filter(({ item }) => item.required);
    for (const item of empty) item.complain(item.item.required ? say.required : say.notAnswered);
    const first = !this.#pointedAt;
    this.#pointedAt = required.length === 0;
    if (this.#pointedAt) {
      this.#submit.textContent = empty.length > 0 ? say.submitRest : say.submitSuggested;
      if (first) this.#sight.stage();
    }
    empty[0]?.focus();
  }

  /** Not answering says what each way does to the agent before it does it. */
  #refusal(): HTMLElement | null {
    const modes = this.question.rejectModes;
    if (modes.length === 0) return null;
    const label = this.#plan ? say.feedback : say.reason;
    const ways = modes.map((mode) => {
      const [verb, effect] = say.ways[mode];
      const refuse = (): void => {
        const reason = this.#reason.value.trim();
        this.give(reason === "" ? { mode } : { mode, reason });
      };
      const name = this.#plan && mode === "decline" ? say.sendItBack : verb;
      return element(
        "div",
        { class: "way" },
        button(name, refuse, { part: "reject" }),
        element("p", { class: "soft" }, effect),
      );
    });
    const summary = element("summary", {}, this.#plan ? say.sendBack : say.refuse);
    this.#ways = element(
      "details",
      { part: "refusal" },
      summary,
      element("label", {}, element("span", { class: "soft" }, label), this.#reason),
      ...ways,
    );
    return this.#ways;
  }

  #forget(): void {
    this.#problem.hidden = true;
    this.#pointedAt = this.#chosen = this.#left = false;
    for (const item of this.#items) item.complain(null);
    this.#submit.textContent = this.#plan ? this.#plan.approval : say.submit;
    this.#hint.textContent = "";
    this.#watch();
    this.#look();
  }

  complain(message: string, errors: FieldError[]): void {
    for (const { item, message: text } of errors) if (typeof item === "number") this.#items[item]?.complain(text);
    this.#problem.textContent = clean(message);
    this.#problem.hidden = false;
  }

  busy(busy: boolean): void {
    this.#busy = busy;
    for (const one of this.root.querySelectorAll("button")) one.disabled = busy;
  }

  /** What was given has arrived; only what it left out needs a rescue. */
  sent(given: Given): void {
    this.#sent = "answers" in given ? "answer" : "refusal";
  }

  /** The hub could not be reached when the answer was sent, and is back. */
  isBack(): void {
    if (this.#problem.hidden || this.#problem.textContent !== say.lost) return;
    this.#problem.hidden = true;
    this.#hint.textContent = say.back;
  }

  /** What must not be lost if the question ends otherwise. */
  unused(): Unused {
    if (this.#sent === "answer") return { picks: [], typed: "" };
    const words = [...this.#items.map((item) => item.typed()), this.#plan?.typed() ?? ""];
    if (this.#sent === null) words.push(this.#reason.value.trim());
    const picks = this.#sent === null ? this.#items.flatMap((item) => item.picked()) : [];
    return { picks, typed: words.filter(Boolean).join("\n\n") };
  }

  /** What was filled in; `null` if nothing was. */
  draft(): Draft | null {
    if (this.#sent !== null) return null;
    const { plan, mode } = this.#plan?.draft() ?? { plan: null, mode: "" };
    const reason = this.#reason.value;
    const isOwn = this.#items.some((item) => item.hasOwn() || item.note() !== null);
    if (!isOwn && plan === null && mode === "" && reason === "") return null;
    return { items: this.#items.map((item) => item.draft()), plan, mode, reason };
  }

  restore(draft: Draft): void {
    for (const [i, item] of this.#items.entries()) {
      const kept = draft.items[i];
      if (kept) item.restore(kept);
    }
    this.#plan?.restore(draft);
    this.#reason.value = draft.reason;
    if (draft.reason !== "" && this.#ways) this.#ways.open = true;
    this.#forget();
  }
}

/** Where the focus is, in the words of the table of keys. */
function focusOf(target: EventTarget | undefined, submit: HTMLElement): KeyFocus | undefined {
  if (target === submit) return "send";
  if (target instanceof HTMLTextAreaElement) return "lines";
  if (target instanceof HTMLInputElement)
    return target.type === "radio" || target.type === "checkbox" ? "option" : "line";
  const isControl = target instanceof HTMLElement && target.closest("button, a, summary, select") !== null;
  return isControl ? "control" : undefined;
}

/** Whether it is a field that is typed into. */
function isTyped(target: EventTarget | undefined): target is HTMLElement {
  const focus = target instanceof HTMLElement ? focusOf(target, target.ownerDocument.body) : undefined;
  return focus === "line" || focus === "lines";
}

function activeIn(root: HTMLElement): Element | null {
  const tree = root.getRootNode();
  return tree instanceof ShadowRoot || tree instanceof Document ? tree.activeElement : null;
}

function isPlan(question: Question): boolean {
  return question.kind === "plan" && question.questions.length === 1 && question.questions[0]?.options.length === 1;
}
