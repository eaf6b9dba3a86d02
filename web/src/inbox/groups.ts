/** The rows of the inbox list: questions, oldest waiting first, under the project or agent that waits longest. */

import type { Question } from "../api.ts";
import type { Grouping } from "../state/settings.svelte.ts";
import { firstWords } from "../text/clean.ts";
import { agentName, headline, projectName } from "../text/names.ts";

export type Row = { kind: "group"; name: string; count: number } | QuestionRow;

export interface QuestionRow {
  kind: "question";
  question: Question;
  /** Its first words, and the lines that they get. */
  words: string;
  lines: 1 | 2;
  /** Folder and host, without what the group says already. */
  place: string;
}

const GROUP_HEIGHT = 34;
/** Space around a row, who asks, and one line of words; then what each further line adds. */
const QUESTION_HEIGHT = 68;
const WORDS_HEIGHT = 20;
const PLACE_HEIGHT = 20;
/** So many characters fit one line of the narrowest list. */
const LINE_LENGTH = 38;

export function rows(open: Question[], grouping: Grouping): Row[] {
  if (grouping === "none") return open.map((question) => questionRow(question, grouping));
  const groups = new Map<string, Question[]>();
  for (const question of open) {
    const name = grouping === "agent" ? agentName(question.agent) : projectName(question);
    const group = groups.get(name);
    if (group) group.push(question);
    else groups.set(name, [question]);
  }
  // `open` is oldest first, so the groups stand in the order of their oldest question.
  return [...groups].flatMap(([name, questions]): Row[] => [
    { kind: "group", name, count: questions.length },
    ...questions.map((question) => questionRow(question, grouping)),
  ]);
}

function questionRow(question: Question, grouping: Grouping): QuestionRow {
  const words = headline(question);
  const kind = question.kind === "choice" ? 0 : question.kind.length;
  const { host, title } = question.context;
  const folder = grouping === "project" || !title ? "" : projectName(question);
  const place = [folder, host ? `on ${firstWords(host, 40)}` : ""].filter(Boolean).join(" ");
  return { kind: "question", question, words, lines: words.length + kind > LINE_LENGTH ? 2 : 1, place };
}

export function rowHeight(row: Row): number {
  if (row.kind === "group") return GROUP_HEIGHT;
  return QUESTION_HEIGHT + (row.lines - 1) * WORDS_HEIGHT + (row.place ? PLACE_HEIGHT : 0);
}

export function rowKey(row: Row): string {
  return row.kind === "group" ? `group ${row.name}` : row.question.id;
}
