/** The keys of the question panel. In: a key press. Out: its effect by the table of keys, and motions within the form. */

import { type Key, keyEffect, type KeyEffect, type KeyFocus, type KeyState, SETTLE_MS } from "askd/keys";
import type { Sight } from "askd/sight";

import { indexOf, isTyping } from "../answer/keys.ts";
import { isField, pick } from "../answer/draft.ts";
import type { Form } from "../state/form.svelte.ts";

/** What keys are measured by. */
export interface Panel {
  /** The article of the question. */
  box: HTMLElement;
  id: string;
  state: KeyState;
  sight: Sight;
}

/** Where the focus is, seen from a question. */
export function focusOf(target: EventTarget | null, box: HTMLElement, id: string): KeyFocus | undefined {
  if (!(target instanceof Element) || target.contains(box) || target === document.documentElement) return undefined;
  if (!box.contains(target)) {
    const row = target.closest<HTMLElement>("[data-list] [data-id]");
    if (!row) return "outside";
    return row.dataset.id === id ? "row" : "other row";
  }
  if (target.closest("[data-submit]")) return "send";
  if (target.matches("[data-other-text]")) return "line";
  if (target instanceof HTMLTextAreaElement) return "lines";
  if (target instanceof HTMLSelectElement) return "control";
  if (target instanceof HTMLInputElement) return isTyping(target) ? "line" : "option";
  return target.closest("button, a, summary, dialog") ? "control" : undefined;
}

/** Whether a key press is for the page at all: not for the browser, an input method or a dialog. */
export function isForPage(event: KeyboardEvent): boolean {
  if (event.defaultPrevented || event.altKey || event.isComposing || document.querySelector("dialog[open]"))
    return false;
  return event.key === "Enter" || (!event.ctrlKey && !event.metaKey);
}

/** The key in the words of the table; `isOption` says whether it picks something. */
export function nameOf(event: KeyboardEvent, isOption: boolean): Key {
  if (event.key === "Enter")
    return event.repeat ? "held Enter" : event.ctrlKey || event.metaKey ? "Ctrl+Enter" : "Enter";
  if (event.key === "s" || event.key === "Escape") return event.key;
  return isOption ? "1" : "x";
}

export function effectOf(event: KeyboardEvent, key: Key, { box, id, state, sight }: Panel): KeyEffect {
  const focus = focusOf(event.target, box, id);
  // A line may have several after all.
  if (focus === "line" && event.key === "Enter" && event.shiftKey) return "none";
  return keyEffect({ state, key, focus, plan: sight.plan, since: sight.since(event.timeStamp, state, key) });
}

/** Whether keys that only move, or open something, are for this question now. */
export function takesMotion(event: KeyboardEvent, { box, id, state, sight }: Panel): boolean {
  const focus = focusOf(event.target, box, id);
  if (focus === "line" || focus === "lines" || focus === "outside" || focus === "other row" || isTyping(event.target))
    return false;
  const rests = state === "sending" || state === "settled" || state === "lost" || state === "refusing";
  return !rests && sight.since(event.timeStamp) >= SETTLE_MS;
}

export interface FormActions {
  send: () => void;
  say: () => void;
  /** Shows the item that keys act on, and gives it the focus if `focus` is set. */
  show: (index: number, focus: boolean) => void;
}

export function formKey(event: KeyboardEvent, form: Form, panel: Panel, actions: FormActions): void {
  if (!isForPage(event)) return;
  const section = panel.box.querySelector<HTMLElement>(`[data-section="${form.active}"]`);
  const item = form.question.questions[form.active];
  const index = item && !isField(item) ? indexOf(event.key) : null;
  const option = index === null ? undefined : item?.options[index];
  const key = nameOf(event, option !== undefined);
  const effect = effectOf(event, key, panel);
  const draft = form.draft.items[form.active];
  if (effect === "send") actions.send();
  else if (effect === "say") actions.say();
  else if (effect === "refuse") form.rejecting = true;
  else if (effect === "back") back(event, form);
  else if (effect === "pick" && item && option && draft) {
    pick(item, draft, option);
    form.touched();
    // The eyes are on what was picked, so the next Enter is, too.
    section?.querySelectorAll<HTMLElement>("[data-option]")[index ?? 0]?.focus();
  } else if (
    effect === "none"
      ? !(takesMotion(event, panel) && move(event, form, section, actions))
      : effect !== "drop" || key === "x"
  )
    return;
  event.preventDefault();
}

/** Leaves the field so that keys work again, or the ways not to answer. It never sends anything. */
export function back(event: KeyboardEvent, form: Form): void {
  const target = event.target;
  if (!(target instanceof HTMLElement) || !isTyping(target)) {
    form.rejecting = false;
    return;
  }
  const item = target.closest("[data-item]");
  (item?.querySelector<HTMLElement>("[data-option]:checked, [data-option]") ?? target).focus();
  if (document.activeElement === target) target.blur();
  // After the focus has moved: leaving a field is a change of it, too.
  form.left = target.matches("[data-other-text], [data-field]");
}

function move(event: KeyboardEvent, form: Form, section: HTMLElement | null, actions: FormActions): boolean {
  switch (event.key) {
    case "h":
    case "l":
      actions.show(form.active + (event.key === "l" ? 1 : -1), true);
      return true;
    case "j":
    case "k":
    case "ArrowDown":
    case "ArrowUp":
      return moveOption(event, section);
    case "o":
      return focusOn(section?.querySelector<HTMLElement>("[data-other-text]"));
    case "n":
      section?.querySelector<HTMLElement>("[data-add-note]")?.click();
      return focusOn(section?.querySelector<HTMLElement>("[data-note]")) || section !== null;
    default:
      return false;
  }
}

function focusOn(element: HTMLElement | null | undefined): boolean {
  element?.focus();
  return element !== null && element !== undefined;
}

function moveOption(event: KeyboardEvent, section: HTMLElement | null): boolean {
  if (!section || (event.target instanceof Element && event.target.closest("[data-list]"))) return false;
  const inputs = [...section.querySelectorAll<HTMLInputElement>("[data-option]")];
  if (inputs.length === 0) return false;
  const here = inputs.indexOf(document.activeElement as HTMLInputElement);
  // The browser moves within radio buttons by arrows itself.
  if (event.key.startsWith("Arrow") && here >= 0 && inputs[here]?.type === "radio") return false;
  if (event.key.startsWith("Arrow") && here < 0) return false;
  const step = event.key === "j" || event.key === "ArrowDown" ? 1 : -1;
  const next = here < 0 ? inputs[0] : inputs[(here + step + inputs.length) % inputs.length];
  next?.focus();
  // As arrows do on radio buttons: moving picks, and nothing is sent by it. "Other" is only picked by words or a click.
  if (next?.type === "radio" && next.dataset.other === undefined && !next.checked) next.click();
  return true;
}
