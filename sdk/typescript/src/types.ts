/**
 * The names of things on the wire, for people to import. Their shapes come from the API document through `generated.ts`.
 */

import type { components } from "./generated.js";

type Schemas = components["schemas"];

export type Question = Omit<Schemas["Question"], "outcome"> & { outcome?: Outcome | null };
export type Item = Schemas["Item"];
export type Choice = Schemas["Choice"];
export type Kind = Schemas["Kind"];
export type Input = Schemas["Input"];
export type Bounds = Schemas["Bounds"];
export type Body = Schemas["Body"];
export type Context = Schemas["Context"];
export type ToolRef = Schemas["ToolRef"];
export type Status = Schemas["Status"];
type RawOutcome = Schemas["Outcome"];
/** The fields of an outcome that only some statuses have. */
type OutcomeFields = Omit<RawOutcome, "status" | "by" | "at" | "withheld">;
type OutcomeOf<S extends Status, Own extends keyof OutcomeFields> = Pick<RawOutcome, "by" | "at" | "withheld"> & {
  status: S;
} & Pick<RawOutcome, Own> & { [Name in Exclude<keyof OutcomeFields, Own>]?: null };
/** How a question ended; `status` tells which fields there are. */
export type Outcome =
  | (Omit<OutcomeOf<"answered", "agentReceived" | "notes" | "editedPlan" | "nextMode">, "answers"> & {
      answers: ShownAnswer[];
    })
  | OutcomeOf<"rejected", "agentReceived" | "mode" | "reason">
  | OutcomeOf<"cancelled", "agentReceived" | "cause">
  | OutcomeOf<"expired", "agentReceived" | "cause">;
export type Cause = Schemas["Cause"];
export type By = Schemas["By"];
export type Surface = Schemas["Surface"];
export type RejectMode = Schemas["RejectMode"];
export type AgentReceived = Schemas["AgentReceived"];
export type Delivery = Schemas["Delivery"];
export type DeliveryState = Schemas["DeliveryState"];
export type FailReason = Schemas["FailReason"];
export type AskInput = Schemas["AskInput"];
export type ItemInput = Schemas["ItemInput"];
export type ChoiceInput = Schemas["ChoiceInput"];
export type Reply = Schemas["Reply"];
/** The answer to one item: values of options, and own words. */
export type ItemAnswer = Schemas["ItemAnswer"];
/** The same as outcomes have it, with the label of each pick. */
export type ShownAnswer = Schemas["ShownAnswer"];
export type Rejection = Schemas["Rejection"];
export type QuestionPage = Omit<Schemas["QuestionList"], "questions"> & { questions: Question[] };
export type Session = Schemas["Session"];
export type SessionInput = Schemas["SessionInput"];
export type HeldAgent = Schemas["HeldAgent"];
export type Source = Schemas["Source"];
export type SourceInput = Schemas["SourceInput"];
export type SourceState = Schemas["SourceState"];
export type Agent = Schemas["AgentListing"];
export type Token = Schemas["Token"];
export type TokenInput = Schemas["TokenInput"];
export type CreatedToken = Schemas["CreatedToken"];
export type Right = Schemas["Right"];
export type LoginCode = Schemas["CreatedCode"];
export type Health = Schemas["Health"];
export type Problem = Omit<Schemas["Problem"], "question"> & { question?: Question | null };

/** The codes of the hub's refusals (docs/api.md), and of what the client itself finds wrong. */
export type ErrorCode =
  | "malformed_request"
  | "invalid_request"
  | "invalid_cursor"
  | "unauthorized"
  | "invalid_code"
  | "forbidden"
  | "host_not_allowed"
  | "origin_not_allowed"
  | "not_found"
  | "method_not_allowed"
  | "already_settled"
  | "ambiguous_answer"
  | "idempotency_key_reused"
  | "agent_unavailable"
  | "agent_unsupported"
  | "channel_cannot_carry"
  | "body_too_large"
  | "uri_too_long"
  | "unsupported_media_type"
  | "header_too_large"
  | "too_many_open_questions"
  | "too_many_streams"
  | "too_many_waits"
  | "internal"
  | "store_unavailable"
  | "stopping"
  // The client's own.
  | "connection_failed"
  | "unexpected_response"
  | "ambiguous_call"
  | `http_${number}`
  // A newer hub may have more.
  | (string & {});
export type FieldError = Schemas["FieldError"];

/**
 * One for each item, in order: `{picks, words}`, or an array of texts, each the value or the label of one option, or own words. A text that
 * could be two options is refused. An empty one skips its item.
 */
export type Answers = Reply["answers"];

/** What a person reads of an answer: the labels of what was picked, then own words. */
export function answerTexts({ labels, words }: ShownAnswer): string[] {
  return [...labels, ...words];
}

/** Which events or questions to hear of. */
export interface EventFilter {
  status?: Status | undefined;
  agent?: string | undefined;
  session?: string | undefined;
  callId?: string | undefined;
}

/** Which questions to list, and in which order (newest first unless `asc`). */
export interface QuestionFilter extends EventFilter {
  order?: "asc" | "desc" | undefined;
  /** Questions of one page: 1 to 500. */
  limit?: number | undefined;
}

export interface QuestionEvent {
  seq: number;
  type: "question.requested" | "question.resolved" | "question.delivered" | "question.updated";
  at: string;
  /** The question as it stood after this event. */
  question: Question;
}

export interface SessionEvent {
  seq: number;
  type: "session.started" | "session.ended";
  at: string;
  session: Session;
}

/** The hub's retention has deleted events after `after` and up to `through`; questions that are open are never among them. */
export interface TrimmedEvent {
  type: "log.trimmed";
  after: number;
  through: number;
}

/** One entry of the log. New types may come: leave out what you do not know. */
export type AskdEvent = QuestionEvent | SessionEvent | TrimmedEvent;

/** One thing that a managed agent said or did. */
export interface TranscriptEntry {
  number: number;
  at: string;
  /** `response` and `resolved` (the end of a question) only in sessions of an ACP server. */
  voice: "agent" | "thought" | "tool" | "user" | "question" | "turn" | "error" | "other" | "response" | "resolved";
  text: string | null;
  /** The agent's own line, if it was asked for. */
  raw: string | null;
}

/** The hub's retention has deleted the entries after `after` and up to `through`. */
export interface TranscriptTrimmed {
  voice: "trimmed";
  after: number;
  through: number;
}
