/**
 * What a person has filled in so far, and what it means as an answer. Pure: no clock, no storage, no screen.
 *
 * In: a question and a draft. Out: the reply to send, what is missing, what was typed and must not be lost.
 */

import type { Choice, FieldError, Item, ItemAnswer, Question, Reply } from "../api.ts";
import { toLocalInput } from "../text/time.ts";

/** What one item is answered with: values of options, and own words. The page never leaves it to the hub which of them a text is. */
export type Given = Required<ItemAnswer>;
/** A reply that says so for each item. */
export type ExplicitReply = Omit<Reply, "answers"> & { answers: Given[] };

export interface ItemDraft {
  /** Values of picked options. */
  picks: string[];
  /** Whether "Other" is picked. */
  otherOn: boolean;
  /** Own words; for an item without options, the field's text, and for a list of own words one value a line. */
  other: string;
  note: string;
}

export interface Draft {
  items: ItemDraft[];
  /** The plan as changed; null while it is not being edited. */
  editedPlan: string | null;
  nextMode: string;
  /** Reason of a rejection, feedback on a plan. */
  reason: string;
}

export function emptyDraft(question: Question): Draft {
  return { items: question.questions.map(emptyItem), editedPlan: null, nextMode: "", reason: "" };
}

function emptyItem(item: Item): ItemDraft {
  const draft: ItemDraft = { picks: [], otherOn: false, other: "", note: "" };
  if (isField(item)) return { ...draft, other: defaultText(item) };
  // Nothing is picked before the person picks: suggested words stand in their field, and are sent only if he picks them.
  const words = (item.default ?? []).find((text) => !item.options.some((option) => isNamed(option, text)));
  return { ...draft, other: item.custom ? (words ?? "") : "" };
}

function isNamed({ value, label }: Choice, text: string): boolean {
  return value === text || label === text;
}

/** Whether the asker suggests this option. */
export function isSuggested(item: Item, option: Choice): boolean {
  return (item.default ?? []).some((text) => isNamed(option, text));
}

/** Whether the person himself picked or wrote something of the answer. */
export function hasOwn(question: Question, draft: Draft): boolean {
  return question.questions.some((item, i) => {
    const { picks, otherOn, other } = itemDraft(draft, i);
    return isField(item) ? other !== emptyItem(item).other : picks.length > 0 || (otherOn && other.trim() !== "");
  });
}

/** Whether an item is a typed field and not a list to pick from. */
export function isField(item: Item): boolean {
  return item.options.length === 0;
}

/** Whether an item takes several own words, one a line. A secret is masked, and what is masked has no lines. */
export function isList(item: Item): boolean {
  return isField(item) && item.multiple && !item.secret;
}

/** What an untouched field stands for: of several values only a list takes more than the first. */
function defaultValues(item: Item): string[] {
  return (item.default ?? []).slice(0, isList(item) ? undefined : 1);
}

function defaultText(item: Item): string {
  // Yes and No are options: what is suggested is marked and not picked.
  if (item.input === "boolean" && !isList(item)) return "";
  const text = defaultValues(item).join("\n");
  return item.input === "datetime" && !isList(item) ? toLocalInput(text) : text;
}

export function answerOf(item: Item, draft: ItemDraft): Given {
  if (isField(item)) return { picks: [], words: fieldWords(item, draft.other) };
  const picks = item.options.map(({ value }) => value).filter((value) => draft.picks.includes(value));
  const other = ownText(draft.other);
  return { picks, words: item.custom && draft.otherOn && other !== "" ? [other] : [] };
}

/** Blanks around one line mean nothing; the first of several lines may be indented for a reason. */
export function ownText(text: string): string {
  return text.trim().includes("\n") ? text.trimEnd() : text.trim();
}

export function isAnswered(item: Item, draft: ItemDraft): boolean {
  const { picks, words } = answerOf(item, draft);
  return picks.length + words.length > 0;
}

function fieldWords(item: Item, text: string): string[] {
  if (text.trim() === "") return [];
  // What nobody touched goes back as it came, whatever the field made of it.
  if (text === defaultText(item)) return defaultValues(item);
  if (isList(item))
    return text
      .split("\n")
      .map((line) => line.trim())
      .filter((line) => line !== "");
  if (item.input === "datetime") {
    const date = new Date(text);
    return [Number.isNaN(date.getTime()) ? text : date.toISOString()];
  }
  const multiline = item.input === undefined || item.input === "text" || item.input === "multiline";
  return [multiline || item.secret ? text : text.trim()];
}

export function toReply(question: Question, draft: Draft): ExplicitReply {
  const reply: ExplicitReply = { answers: question.questions.map((item, i) => answerOf(item, itemDraft(draft, i))) };
  const notes = draft.items.map(({ note }) => ownText(note) || null);
  if (notes.some((note) => note !== null)) reply.notes = notes;
  if (draft.nextMode !== "") reply.nextMode = draft.nextMode;
  return reply;
}

export function itemDraft(draft: Draft, index: number): ItemDraft {
  return draft.items[index] ?? { picks: [], otherOn: false, other: "", note: "" };
}

/** The items that have no answer yet. */
export function unanswered(question: Question, draft: Draft): number[] {
  return question.questions.flatMap((item, i) => (isAnswered(item, itemDraft(draft, i)) ? [] : [i]));
}

/** What the hub would refuse for certain, said before it is asked; all other rules are the hub's. */
export function requiredMissing(question: Question, draft: Draft): FieldError[] {
  return unanswered(question, draft)
    .filter((i) => question.questions[i]?.required)
    .map((i) => ({ field: `answers[${i}]`, item: i, code: "required", message: "This needs an answer." }));
}

export function pick(item: Item, draft: ItemDraft, option: Choice): void {
  if (item.multiple) {
    draft.picks = draft.picks.includes(option.value)
      ? draft.picks.filter((value) => value !== option.value)
      : [...draft.picks, option.value];
  } else {
    draft.picks = [option.value];
    draft.otherOn = false;
  }
}

export function pickOther(item: Item, draft: ItemDraft, on: boolean): void {
  draft.otherOn = on;
  if (on && !item.multiple) draft.picks = [];
}

/** The words that a person typed himself, for rescue when the question ends under his hands. */
export function typedText(question: Question, draft: Draft): string {
  const lines: string[] = [];
  question.questions.forEach((item, i) => {
    if (item.secret) return;
    const { other, note } = itemDraft(draft, i);
    if (other.trim() !== "" && other !== emptyItem(item).other) lines.push(ownText(other));
    if (note.trim() !== "") lines.push(ownText(note));
  });
  if (draft.editedPlan !== null && draft.editedPlan !== question.body?.text) lines.push(draft.editedPlan);
  if (draft.reason.trim() !== "") lines.push(draft.reason.trim());
  return lines.join("\n\n");
}

/** The draft without what must not be written to the browser's storage. */
export function withoutSecrets(question: Question, draft: Draft): Draft {
  const items = draft.items.map((item, i) =>
    question.questions[i]?.secret ? { ...item, picks: [], other: "", otherOn: false } : { ...item },
  );
  return { ...draft, items };
}
