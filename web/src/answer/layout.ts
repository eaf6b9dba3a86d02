/** Whether the items of a question fit one panel as sections, or need tabs with a review. */

import type { Question } from "../api.ts";

/** About one screen of lines: a header and a text per item, a line per option, and room for Other. */
const LINES_OF_ONE_PANEL = 22;

export function needsTabs(question: Question): boolean {
  const { kind, questions } = question;
  if (questions.length < 2 || kind === "form") return false;
  if (questions.some((item) => item.options.some((option) => option.preview))) return true;
  const lines = questions.reduce((sum, item) => sum + 2 + item.options.length + (item.custom ? 1 : 0), 0);
  return lines > LINES_OF_ONE_PANEL;
}
