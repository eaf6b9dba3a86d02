/**
 * Everything that can go wrong, as classes.
 *
 * In: a problem that the hub sent, an unreadable response, or a connection that failed. Out: an `AskdError` of the class that fits.
 */

import type { By, ErrorCode, FieldError, Outcome, Problem, Question } from "./types.js";

/** What the hub said no to, or why it could not be asked. */
export class AskdError extends Error {
  /** Stable, for programs; the hub's codes are in docs/api.md. */
  readonly code: ErrorCode;
  /** The HTTP status; `null` where no response came. */
  readonly status: number | null;
  /** The hub's own words, where it sent any. */
  readonly problem: Problem | null;
  /** What the hub asked to wait before the next try, in milliseconds. */
  readonly retryAfter: number;

  constructor(message: string, details: ErrorDetails) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = new.target.name;
    this.code = details.code;
    this.status = details.status ?? null;
    this.problem = details.problem ?? null;
    this.retryAfter = details.retryAfter ?? 0;
  }

  /** Whether the same request may succeed later without a change. */
  get retryable(): boolean {
    return this.status !== null && this.status >= 500;
  }
}

export interface ErrorDetails {
  code: ErrorCode;
  status?: number;
  problem?: Problem | null;
  retryAfter?: number;
  cause?: unknown;
}

/** The hub could not be reached, or the connection broke. */
export class ConnectionError extends AskdError {
  override get retryable(): boolean {
    return true;
  }
}

/** The hub is stopping, its store cannot be used now, or it has too much to do. */
export class UnavailableError extends AskdError {
  override get retryable(): boolean {
    // A full inbox does not empty itself: whoever asks must be told.
    return this.code !== "too_many_open_questions";
  }
}

/** The token is missing, unknown or revoked; or a log-in code is used, too old or unknown. */
export class UnauthorizedError extends AskdError {}

/** The token lacks a right, or the Host or Origin is not allowed. */
export class ForbiddenError extends AskdError {}

/** There is no such thing. */
export class NotFoundError extends AskdError {}

/** The request does not fit; `errors` says which fields and why. */
export class InvalidRequestError extends AskdError {
  readonly errors: FieldError[];

  constructor(message: string, details: ErrorDetails) {
    super(message, details);
    this.errors = details.problem?.errors ?? [];
  }
}

/** An answer or a rejection does not fit its question. */
export class InvalidAnswerError extends InvalidRequestError {
  /** What is wrong with one item of the question, for the form to show beside it. */
  ofItem(item: number): FieldError[] {
    return this.errors.filter((error) => error.item === item);
  }
}

/** The cursor of a stream or list belongs to another store: list again. */
export class CursorLostError extends InvalidRequestError {}

/** Somebody settled the question in another way before. */
export class AlreadySettledError extends AskdError {
  readonly question: Question;
  readonly outcome: Outcome;
  /** Who, and from which surface. */
  readonly by: By;

  constructor(message: string, details: ErrorDetails & { question: Question; outcome: Outcome }) {
    super(message, details);
    this.question = details.question;
    this.outcome = details.outcome;
    this.by = details.outcome.by;
  }
}

/** Whether a JSON value is a problem of the hub, also where it comes late with the status 200. */
export function isProblem(value: unknown): value is Problem {
  if (typeof value !== "object" || value === null) return false;
  const { type, code, status, detail } = value as Partial<Record<keyof Problem, unknown>>;
  return type === "about:blank" && typeof code === "string" && typeof status === "number" && typeof detail === "string";
}

/** The error that a problem stands for. */
export function fromProblem(problem: Problem, retryAfter = 0): AskdError {
  const { code, status } = problem;
  const message = `${problem.title}: ${problem.detail}`;
  const details: ErrorDetails = { code, status, problem, retryAfter };
  const question = problem.question;
  if (code === "already_settled" && question?.outcome) {
    return new AlreadySettledError(message, { ...details, question, outcome: question.outcome });
  }
  if (code === "invalid_cursor" || problem.errors?.some((error) => error.code === "beyond_newest")) {
    return new CursorLostError(message, details);
  }
  if (code === "invalid_request") return new InvalidRequestError(message, details);
  return fromStatus(status, message, details);
}

/** The error for a response that is no problem of the hub, such as a proxy's page. */
export function fromStatus(status: number, message: string, details: ErrorDetails): AskdError {
  if (status === 401) return new UnauthorizedError(message, details);
  if (status === 403) return new ForbiddenError(message, details);
  if (status === 404) return new NotFoundError(message, details);
  if ([429, 502, 503, 504].includes(status)) return new UnavailableError(message, details);
  return new AskdError(message, details);
}

export function isRetryable(error: unknown): error is AskdError {
  return error instanceof AskdError && error.retryable;
}
