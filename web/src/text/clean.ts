/** Agents' text, made safe by the SDK as in the widget, and the first words of it. */

import { clean } from "askd/text";

export { clean, safeLink } from "askd/text";

/** JSON in which every character is seen: what would reorder, hide or be obeyed by a terminal is an escape. */
export function visibleJson(value: unknown): string {
  const visible = (character: string) =>
    [...Array(character.length).keys()]
      .map((i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, "0")}`)
      .join("");
  return JSON.stringify(value, null, 2).replace(/(?!\n)[\p{Cc}\p{Cf}\u034f\u115f\u1160\u2800\u3164\uffa0]/gu, visible);
}

/** One line for lists and titles. */
export function firstWords(text: string, limit = 140): string {
  const line = clean(text).replace(/\s+/g, " ").trim();
  return line.length > limit ? `${line.slice(0, limit - 1).trimEnd()}…` : line;
}
