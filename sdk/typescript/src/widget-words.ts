/**
 * Every word of the widget that is not an agent's, in one table that a page may replace: `useWords({ submit: "Senden" })`.
 *
 * In: parts of the table in another language, and a locale for times. Out: the table, which whatever is drawn afterwards uses.
 */

import type { Cause, FailReason, RejectMode } from "./types.js";

const ENGLISH = {
  verbs: {
    choice: "asks",
    plan: "has a plan",
    permission: "asks for permission",
    form: "asks for details",
  },
  on: (host: string) => `on ${host}`,
  waiting: (span: string) => `waiting ${span}`,
  asked: (moment: string) => `asked ${moment}`,
  until: (moment: string, span: string) => `the asker gives up at ${moment}, in ${span}`,
  saidBefore: "Said just before",
  now: "a moment",
  minutes: (count: number) => `${count} min`,
  hours: (count: number) => `${count} h`,
  days: (count: number) => (count === 1 ? "1 day" : `${count} days`),

  command: "Command",
  text: "Text",
  changes: "Changes",
  plan: "Plan",
  table: "Table",
  code: (language: string | null) => (language ? `Code, ${language}` : "Code"),
  done: "done",
  toDo: "to do",
  showAll: (lines: number) => `Show all ${lines} lines`,
  fold: "Fold",
  wrap: "Wrap lines",
  doNotWrap: "Do not wrap lines",
  notALink: (url: string) => `Not a web address, so it is no link: ${url}`,

  suggested: "suggested",
  other: "Other",
  otherAnswer: "Other: your own answer",
  yourAnswer: "Your own answer",
  yes: "Yes",
  no: "No",
  preview: "Preview",
  asText: "Show as text",
  asMarkdown: "Render Markdown",
  filter: (count: number) => `Filter ${count} options`,
  addNote: "Add a note",
  note: "Note to the agent",
  atLeast: (count: number) => `at least ${count}`,
  atMost: (count: number) => `at most ${count}`,
  and: " and ",
  pick: (count: string) => `Pick ${count}.`,
  pickMany: "Pick as many as you like.",
  onePerLine: (count: string) => (count ? `One a line, ${count}.` : "One a line."),
  needed: "Needs an answer.",

  submit: "Submit",
  submitRest: "Submit without the rest",
  submitSuggested: "Submit what is suggested",
  required: "This needs an answer.",
  notAnswered: "Not answered yet.",
  readFirst: "Read the plan to its end first.",
  picked: "Approval is picked. Enter sends it.",
  left: "You left your own words. Submit or Ctrl Enter sends them.",
  pressOne: "Press 1, then Enter, to approve.",
  approve: "Approve",
  withEdits: (approve: string) => `${approve} with edits`,
  editFirst: "Edit first",
  dropEdits: "Drop my edits",
  editor: "The plan, as you want it",
  mode: "Then go on in mode",
  agentsMode: "The agent's default",
  refuse: "Do not answer…",
  sendBack: "Send back with feedback…",
  reason: "Reason, for the agent",
  feedback: "What should be different?",
  unsentFeedback: "You wrote feedback. Send it back, or delete it to approve.",
  unsentReason: "You wrote a reason for not answering. Send that, or delete it to answer.",
  ways: {
    decline: ["Decline", "The agent is told that you declined, with your reason, and goes on."],
    cancel: ["Cancel the call", "The call that asked is aborted; the agent gets an error instead of an answer."],
    interrupt: ["Stop the turn", "The agent stops what it is doing now and waits for your next message."],
  } as Record<RejectMode, [verb: string, effect: string]>,
  sendItBack: "Send back",

  lost: "The hub cannot be reached. Sending again is safe.",
  back: "The hub is back. What you filled in was not sent: send it again.",
  again: "Try again",
  noId: "This <askd-question> has no question-id and no call-id.",
  noToken: "This <askd-question> has no token and no client.",
  badHub: (hub: string) => `The attribute hub is not the address of a hub: ${hub}`,

  onItsWay: "Answer submitted, waiting for the agent…",
  you: "you",
  by: (actor: string) => `by ${actor}`,
  onAgentsScreen: "in the agent's own screen",
  answered: (by: string) => `Answered ${by}`,
  rejected: {
    decline: (by: string) => `Declined ${by}`,
    cancel: (by: string) => `Call cancelled ${by}`,
    interrupt: (by: string) => `Turn stopped ${by}`,
  } as Record<RejectMode, (by: string) => string>,
  expired: "Expired without an answer",
  cancelled: "No longer asked",
  secret: "kept secret",
  skipped: "not answered",
  noteWas: (note: string) => `Note: ${note}`,
  approvedWithEdits: "Approved with edits",
  goesOn: (mode: string) => `Goes on in mode ${mode}`,
  options: (count: number) => `${count} options`,
  picks: "picked",
  typed: "What you had typed:",
  notUsed: (picks: string) => `Your pick ${picks} was not used.`,
  another: (got: string) => `The agent had taken another answer first: ${got}`,
  causes: {
    agentWithdrew: "The agent took its question back.",
    agentExited: "The agent's process ended.",
    agentTimedOut: "The agent's own time-out was over: it went on without an answer.",
    turnAborted: "The turn that asked was aborted.",
    sessionEnded: "The conversation was ended.",
    sourceLost: "The agent can no longer be reached.",
    askerWithdrew: "The asker took its question back.",
    deadlinePassed: "The asker's deadline passed.",
  } as Record<Cause["type"], string>,
  /** What became of an answer that is not known to have arrived; `detail` is the hub's. */
  undelivered: {
    overtaken: "Not delivered: the agent had taken another answer before.",
    unknown: "Whether the agent got it cannot be known.",
    unconfirmed: "Sent; the agent ended before it showed that it had read it.",
    agentGone: "Not delivered: the agent was gone.",
    refused: "Not delivered: the agent refused it.",
    sentAsMessage: "The call that asked was gone; it was said as a message instead.",
  } as Record<FailReason, string>,
};

export type Words = typeof ENGLISH;

export let say: Words = ENGLISH;
let locale: string | undefined;

/** Replaces a part of the table, for whatever is drawn afterwards. What is not given stays English. */
export function useWords(table: Partial<Words>, options: { locale?: string } = {}): void {
  say = { ...ENGLISH, ...table };
  locale = options.locale;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export function span(millis: number): string {
  if (millis < MINUTE) return say.now;
  if (millis < HOUR) return say.minutes(Math.floor(millis / MINUTE));
  return millis < DAY ? say.hours(Math.floor(millis / HOUR)) : say.days(Math.floor(millis / DAY));
}

/** The time of day, with the date where it is another day. */
export function moment(text: string): string {
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) return text;
  const time = { hour: "2-digit", minute: "2-digit" } as const;
  const isToday = new Date().toDateString() === date.toDateString();
  return new Intl.DateTimeFormat(locale, isToday ? time : { day: "numeric", month: "short", ...time }).format(date);
}
