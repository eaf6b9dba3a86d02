/** The rows of the inbox list: questions, oldest waiting first, under the project or agent that waits longest. */

import type { Question } from "../api.ts";
import type { Grouping } from "../state/settings.svelte.ts";
import { agentName, projectName } from "../text/names.ts";

export type Row =
  | { kind: "group"; name: string; count: number }
  | { kind: "question"; question: Question; position: number };

export const GROUP_HEIGHT = 34;
export const QUESTION_HEIGHT = 82;

export function rows(open: Question[], grouping: Grouping): Row[] {
  if (grouping === "none") return open.map((question, i) => ({ kind: "question", question, position: i + 1 }));
  const groups = new Map<string, Question[]>();
  for (const question of open) {
    const name = grouping === "agent" ? agentName(question.agent) : projectName(question);
    const group = groups.get(name);
    if (group) group.push(question);
    else groups.set(name, [question]);
  }
  // `open` is oldest first, so the groups stand in the order of their oldest question.
  let position = 0;
  return [...groups].flatMap(([name, questions]): Row[] => [
    { kind: "group", name, count: questions.length },
    ...questions.map((question): Row => ({ kind: "question", question, position: (position += 1) })),
  ]);
}

export function rowHeight(row: Row): number {
  return row.kind === "group" ? GROUP_HEIGHT : QUESTION_HEIGHT;
}

export function rowKey(row: Row): string {
  return row.kind === "group" ? `group ${row.name}` : row.question.id;
}
