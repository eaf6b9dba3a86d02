/** What the history is asked for, as it stands in the form. */

import type { HistoryFilter, Status } from "../api.ts";

export interface Wanted {
  text: string;
  agent: string;
  project: string;
  status: "" | Exclude<Status, "requested">;
  /** Days back from now; empty is all time. */
  days: "" | "1" | "7" | "30";
}

export const NOTHING_WANTED: Wanted = { text: "", agent: "", project: "", status: "", days: "" };

/** Whether nothing is filtered out. */
export function isWide(wanted: Wanted): boolean {
  return Object.values(wanted).every((value) => value.trim() === "");
}

const DAY_MS = 24 * 3_600_000;

export function toFilter(wanted: Wanted, now: number, limit: number): HistoryFilter {
  const filter: HistoryFilter = { limit };
  if (wanted.status === "") filter.settled = true;
  else filter.status = wanted.status;
  if (wanted.text.trim() !== "") filter.text = wanted.text.trim();
  if (wanted.agent !== "") filter.agent = wanted.agent;
  if (wanted.project !== "") filter.project = wanted.project;
  if (wanted.days !== "") filter.since = new Date(now - Number(wanted.days) * DAY_MS).toISOString();
  return filter;
}
