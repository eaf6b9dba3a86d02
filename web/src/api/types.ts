/** What the hub says, as its OpenAPI document has it. Only what the inbox reads. */

export type Status = "requested" | "answered" | "rejected" | "cancelled" | "expired";
export type Kind = "choice" | "plan" | "permission" | "form";
export type RejectMode = "decline" | "cancel" | "interrupt";
export type Surface = "web" | "terminal" | "cli" | "api" | "notification" | "agent" | "hub";
export type InputType =
  | "text"
  | "multiline"
  | "number"
  | "integer"
  | "boolean"
  | "date"
  | "datetime"
  | "email"
  | "uri"
  | "url";

export interface Choice {
  label: string;
  value: string;
  description: string | null;
  preview: string | null;
}

export interface Bounds {
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  pattern?: string;
}

export interface Item {
  question: string;
  header: string | null;
  options: Choice[];
  multiple: boolean;
  custom: boolean;
  secret: boolean;
  required: boolean;
  input?: InputType;
  default?: string[];
  bounds?: Bounds;
  url?: string;
  key?: string;
}

export interface Context {
  cwd: string | null;
  title: string | null;
  excerpt: string | null;
  host?: string | null;
}

export interface Body {
  format: "markdown" | "command" | "diff" | "text";
  text: string;
}

export type Cause =
  | { type: "agentWithdrew" | "turnAborted" | "sessionEnded" | "sourceLost"; detail: string | null }
  | { type: "agentExited"; code: number | null; signal: number | null; stderr: string[] }
  | { type: "askerWithdrew"; reason: string | null }
  | { type: "deadlinePassed" };

export interface Outcome {
  status: Status;
  answers: string[][] | null;
  notes: (string | null)[] | null;
  editedPlan?: string;
  nextMode?: string;
  /** Items whose answers are secret and therefore shown as empty arrays. */
  withheld?: number[];
  mode?: RejectMode;
  reason?: string;
  by: { surface: Surface; actor: string | null };
  cause: Cause | null;
  at: string;
  agentReceived: { answers: string[][]; via: string } | null;
}

export type FailReason = "overtaken" | "unknown" | "unconfirmed" | "agentGone" | "refused";

export interface Delivery {
  state: "queued" | "sent" | "confirmed" | "failed";
  attempts: number;
  error: { reason: FailReason; detail: string | null } | null;
  at: string;
}

export interface Question {
  id: string;
  sessionId: string | null;
  agent: string;
  kind: Kind;
  questions: Item[];
  body?: Body;
  nextModes?: string[];
  context: Context;
  tool: { messageId: string | null; callId: string | null } | null;
  rejectModes: RejectMode[];
  deadline?: string;
  status: Status;
  outcome: Outcome | null;
  delivery: Delivery | null;
  createdAt: string;
  seq: number;
}

export interface QuestionList {
  questions: Question[];
  nextCursor: string | null;
  /** The newest event that this list has seen. */
  seq: number;
}

export interface QuestionQuery {
  status?: Status;
  settled?: boolean;
  agent?: string;
  session?: string;
  project?: string;
  text?: string;
  since?: string;
  until?: string;
  order?: "asc" | "desc";
  cursor?: string;
  limit?: number;
}

export interface Reply {
  answers: string[][];
  notes?: (string | null)[];
  editedPlan?: string;
  nextMode?: string;
}

export interface Rejection {
  mode: RejectMode;
  reason?: string;
}

export interface Session {
  id: string;
  agent: string;
  sourceId: string;
  nativeId: string;
  cwd: string | null;
  title: string | null;
  parentId: string | null;
  live: boolean;
  pid: number | null;
  managed: boolean;
  startedAt: string;
  endedAt: string | null;
  end: Cause | null;
}

export interface Source {
  id: string;
  kind: string;
  agent: string;
  label: string;
  state: "connecting" | "connected" | "lost" | "ended";
  since: string;
  lastError: string | null;
}

export interface HubEvent {
  seq: number;
  type:
    | "question.requested"
    | "question.resolved"
    | "question.delivered"
    | "question.updated"
    | "session.started"
    | "session.ended"
    | "log.trimmed";
  at?: string;
  question?: Question;
  session?: Session;
}

export interface FieldError {
  field: string;
  item?: number;
  code: string;
  message: string;
}
