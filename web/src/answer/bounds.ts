/** What a field wants, in words. The hub enforces it; this only spares a round. */

import type { Input, Item } from "../api.ts";
import { clean } from "../text/clean.ts";

const TYPES: Partial<Record<Input, string>> = {
  number: "A number",
  integer: "A whole number",
  email: "An e-mail address",
  uri: "A web address",
  datetime: "In your own time zone",
};

export function boundsWords(item: Item): string {
  const words: string[] = [];
  const type = item.input ? TYPES[item.input] : undefined;
  if (type) words.push(type);
  const { minimum, maximum, minLength, maxLength, pattern } = item.bounds ?? {};
  const range = rangeWords(minimum, maximum);
  if (range) words.push(range);
  const length = rangeWords(minLength, maxLength);
  if (length) words.push(`${length} characters`);
  if (pattern != null) words.push(`matching ${clean(pattern)}`);
  if (item.secret) words.push("Kept secret: only the asker gets it, and no draft is kept");
  return words.length > 0 ? `${words.join(", ")}.` : "";
}

function rangeWords(low: number | null | undefined, high: number | null | undefined): string {
  if (low != null && high != null) return `${low} to ${high}`;
  if (low != null) return `at least ${low}`;
  return high != null ? `at most ${high}` : "";
}
