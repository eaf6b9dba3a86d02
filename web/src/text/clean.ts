/** Agents' text, made safe by the SDK as in the widget, and the first words of it. */

import { clean } from "askd/text";

export { clean, safeLink } from "askd/text";

/** One line for lists and titles. */
export function firstWords(text: string, limit = 140): string {
  const line = clean(text).replace(/\s+/g, " ").trim();
  return line.length > limit ? `${line.slice(0, limit - 1).trimEnd()}…` : line;
}
