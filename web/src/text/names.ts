/** How people, places and projects are called in the inbox. */

import type { Cause, Outcome, Question, RejectMode, Status, Surface } from "../api.ts";
import { clean, firstWords } from "./clean.ts";

/** Why a plan cannot be approved yet. */
export const READ_FIRST = "Read the plan to its end first.";

const AGENTS: Record<string, string> = {
  claude: "Claude Code",
  opencode: "OpenCode",
  codex: "Codex",
  amp: "Amp",
  copilot: "Copilot",
  cursor: "Cursor",
  gemini: "Gemini",
  goose: "Goose",
  kimi: "Kimi",
  pi: "Pi",
  mock: "Mock agent",
  demo: "Demo",
  api: "A program",
};

export function agentName(agent: string): string {
  return AGENTS[agent] ?? agent;
}

export function projectName(question: Question): string {
  const cwd = question.context.cwd;
  if (!cwd) return "No project";
  return (
    clean(cwd)
      .replace(/[/\\]+$/, "")
      .split(/[/\\]/)
      .pop() || clean(cwd)
  );
}

/** The key of the only item of a question that is shown as it came. */
const RAW_RESULT = "$result";

/** What a list calls a question: of a form, what stands above its fields; else its first item. The hub's `Ask::headline` is the same. */
export function headline(question: Question): string {
  const {
    kind,
    body,
    questions: [first],
  } = question;
  const isField = typeof first?.key === "string" && first.key !== RAW_RESULT;
  const above =
    kind === "form" && isField && body?.format === "text" ? body.text.split("\n").find((line) => line.trim()) : null;
  return firstWords(above ?? first?.question ?? "");
}

const SURFACES: Record<Surface, string> = {
  web: "the web inbox",
  terminal: "the terminal inbox",
  cli: "the command line",
  api: "the API",
  notification: "a notification",
  agent: "the agent's own screen",
  hub: "askd",
};

export function surfaceName(surface: Surface): string {
  return SURFACES[surface] ?? surface;
}

const STATUS: Record<Status, string> = {
  requested: "Waiting",
  answered: "Answered",
  rejected: "Declined",
  cancelled: "Cancelled",
  expired: "Expired",
};

const REJECTED: Record<RejectMode, string> = {
  decline: "Declined",
  cancel: "Call cancelled",
  interrupt: "Turn stopped",
};

/** How far a question is, or how it ended. */
export function statusWords({ status, outcome }: Question): string {
  return status === "rejected" && outcome?.mode ? REJECTED[outcome.mode] : STATUS[status];
}

/** Who ended it and where. */
export function whoAndWhere(outcome: Outcome): string {
  const { actor, surface } = outcome.by;
  if (surface === "agent") return "in the agent's own screen";
  if (surface === "hub") return "by askd";
  return actor ? `by ${clean(actor)} in ${surfaceName(surface)}` : `in ${surfaceName(surface)}`;
}

export function causeWords(cause: Cause, agent: string): string {
  const name = agentName(agent);
  const withDetail = (text: string, detail: string | null | undefined): string =>
    detail ? `${text}: ${clean(detail)}` : `${text}.`;
  switch (cause.type) {
    case "agentWithdrew":
      return withDetail(`${name} took its question back`, cause.detail);
    case "agentExited": {
      const how = cause.signal != null ? `by signal ${cause.signal}` : `with code ${cause.code ?? "unknown"}`;
      return `${name}'s process ended ${how}. Nobody is left to take an answer.`;
    }
    case "agentTimedOut":
      return withDetail(`${name}'s own time-out was over, and it went on without an answer`, cause.detail);
    case "turnAborted":
      return withDetail("The turn that asked was aborted", cause.detail);
    case "sessionEnded":
      return withDetail("The conversation was ended", cause.detail);
    case "sourceLost":
      return withDetail(`askd can no longer reach ${name}`, cause.detail);
    case "askerWithdrew":
      return withDetail("The program that asked took its question back", cause.reason);
    case "deadlinePassed":
      return "The asker's own deadline passed before anyone answered. It was told that nobody did.";
  }
}

/** What a rejection will do, said before it is done. */
export function rejectWords(mode: RejectMode, question: Question): { verb: string; effect: string } {
  const name = question.sessionId == null && question.agent === "api" ? "The program" : agentName(question.agent);
  switch (mode) {
    case "decline":
      if (question.kind === "plan")
        return { verb: "Send back", effect: `The plan goes back to ${name} with your feedback.` };
      return { verb: "Decline", effect: `${name} is told that you declined, with your reason, and goes on.` };
    case "cancel":
      return {
        verb: "Cancel the call",
        effect: `The call that asked is aborted. ${name} gets an error instead of an answer.`,
      };
    case "interrupt":
      return { verb: "Stop the turn", effect: `${name} stops what it is doing now and waits for your next message.` };
  }
}
