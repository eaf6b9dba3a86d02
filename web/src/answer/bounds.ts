/** What a field wants, in words. The hub enforces it; this only spares a round. */

import type { FieldError, Input, Item } from "../api.ts";
import { clean } from "../text/clean.ts";
import { isList } from "./draft.ts";

const TYPES: Partial<Record<Input, string>> = {
  number: "a number",
  integer: "a whole number",
  email: "an e-mail address",
  uri: "a web address",
  datetime: "in your own time zone",
};

/** Values of a list are typed, where a single one has a field of its own sort. */
const LIST_TYPES: Partial<Record<Input, string>> = {
  ...TYPES,
  date: "a date such as 2026-11-15",
  datetime: "a time such as 2026-11-15T07:00:00Z",
  boolean: "true or false",
};

export function boundsWords(item: Item): string {
  const words: string[] = [];
  const type = item.input ? (isList(item) ? LIST_TYPES : TYPES)[item.input] : undefined;
  if (type) words.push(type);
  const { minimum, maximum, minLength, maxLength, pattern } = item.bounds ?? {};
  const range = rangeWords(minimum, maximum);
  if (range) words.push(range);
  const length = rangeWords(minLength, maxLength);
  if (length) words.push(`${length} characters`);
  if (pattern != null) words.push(`matching ${clean(pattern)}`);
  if (item.secret) words.push("kept secret: only the asker gets it, and no draft is kept");
  if (!isList(item)) return sentence(words.join(", "));
  const count = countWords(item);
  const each = words.length > 0 ? ` Each: ${words.join(", ")}.` : "";
  return sentence(count ? `${count}, one a line` : "one a line") + each;
}

/** How many options may be picked. */
export function pickWords(item: Item): string {
  const count = countWords(item);
  return count ? `Pick ${count}.` : "Pick as many as you like.";
}

/** What is wrong, and with which value of a list. */
export function errorWords(item: Item, { field, message }: FieldError): string {
  const index = isList(item) ? /(?:\]|\.words)\[(\d+)\]$/.exec(field)?.[1] : undefined;
  return index === undefined ? clean(message) : `Value ${Number(index) + 1}: ${clean(message)}`;
}

/** At least none is no bound. */
function countWords({ bounds }: Item): string {
  return rangeWords(bounds?.minItems || null, bounds?.maxItems);
}

function sentence(words: string): string {
  return words === "" ? "" : `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}

function rangeWords(low: number | null | undefined, high: number | null | undefined): string {
  if (low != null && high != null) return low === high ? `exactly ${low}` : `${low} to ${high}`;
  if (low != null) return `at least ${low}`;
  return high != null ? `at most ${high}` : "";
}
