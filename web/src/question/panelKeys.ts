/** The keys of the question panel. In: a key press outside of fields. Out: what to do; the form decides whether it can. */

import { indexOf, isTyping } from "../answer/keys.ts";
import { isField, pick } from "../answer/draft.ts";
import type { Form } from "../state/form.svelte.ts";

export interface PanelActions {
  submit: () => void;
  /** Shows the item that keys act on, and gives it the focus if `focus` is set. */
  show: (index: number, focus: boolean) => void;
  tabs: boolean;
}

function inList(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("[data-list]") !== null;
}

function keepsEnter(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("button, a, summary, select, dialog") !== null;
}

export function panelKey(event: KeyboardEvent, form: Form, root: HTMLElement, actions: PanelActions): void {
  if (event.defaultPrevented || event.altKey || document.querySelector("dialog[open]")) return;
  const wantsSend = event.key === "Enter" && (event.ctrlKey || event.metaKey);
  if (isTyping(event.target) || wantsSend) {
    typingKey(event, wantsSend, root, actions);
    return;
  }
  if (event.ctrlKey || event.metaKey) return;
  if (command(event, form, root, actions)) event.preventDefault();
}

/** In a field only Enter of a single line, Ctrl+Enter and Escape mean anything. */
function typingKey(event: KeyboardEvent, wantsSend: boolean, root: HTMLElement, actions: PanelActions): void {
  const target = event.target;
  if (!(target instanceof HTMLElement) || (!root.contains(target) && target !== document.body)) return;
  const line = target instanceof HTMLInputElement || target.dataset["otherText"] !== undefined;
  if (wantsSend || (event.key === "Enter" && line && !event.shiftKey && !event.isComposing)) {
    event.preventDefault();
    actions.submit();
  } else if (event.key === "Escape") {
    // Leaves the field so that keys work again. It never sends anything.
    event.preventDefault();
    const item = target.closest("[data-item]");
    (item?.querySelector<HTMLElement>("[data-option]:checked, [data-option]") ?? target).focus();
    if (document.activeElement === target) target.blur();
  }
}

function command(event: KeyboardEvent, form: Form, root: HTMLElement, actions: PanelActions): boolean {
  const section = root.querySelector<HTMLElement>(`[data-section="${form.active}"]`);
  switch (event.key) {
    case "Enter":
      if (inList(event.target) || keepsEnter(event.target)) return false;
      actions.submit();
      return true;
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
    case "s":
      form.rejecting = true;
      return true;
    case "Escape":
      if (!form.rejecting) return false;
      form.rejecting = false;
      return true;
    default:
      return pickByKey(event, form, section);
  }
}

function focusOn(element: HTMLElement | null | undefined): boolean {
  element?.focus();
  return element !== null && element !== undefined;
}

function moveOption(event: KeyboardEvent, section: HTMLElement | null): boolean {
  if (inList(event.target) || !section) return false;
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
  if (next?.type === "radio" && next.dataset["other"] === undefined && !next.checked) next.click();
  return true;
}

function pickByKey(event: KeyboardEvent, form: Form, section: HTMLElement | null): boolean {
  const index = indexOf(event.key);
  const item = form.question.questions[form.active];
  const draft = form.draft.items[form.active];
  if (index === null || !item || !draft || isField(item) || form.rejecting) return false;
  const option = item.options[index];
  if (!option) return false;
  pick(item, draft, option);
  form.touched();
  // Focus follows only if it was in the panel already: it is never pulled out of the list.
  if (section?.contains(document.activeElement)) section.querySelectorAll<HTMLElement>("[data-option]")[index]?.focus();
  return true;
}
