/** The hub as the inbox uses it: the published TypeScript client, and nothing beside it. */

import { AskdClient, AskdError, ConnectionError, type QuestionFilter, UnauthorizedError } from "askd";

export {
  AlreadySettledError,
  AskdClient,
  AskdError,
  ForbiddenError,
  InvalidRequestError,
  NotFoundError,
  UnauthorizedError,
  answerTexts,
} from "askd";
export type * from "askd";

/** What the history asks for. */
export interface HistoryFilter extends QuestionFilter {
  settled?: boolean;
  project?: string;
  text?: string;
  since?: string;
  until?: string;
}

export function hubFor(token?: string): AskdClient {
  return new AskdClient({ url: location.origin, surface: "web", ...(token === undefined ? {} : { token }) });
}

/** A person who waits for a receipt must hear within this time that there is none. */
export const PATIENCE_MS = 15_000;

/** Whether nobody knows if the request arrived. */
export function isUnreachable(error: unknown): boolean {
  return error instanceof ConnectionError || (error instanceof DOMException && error.name === "TimeoutError");
}

/** Whether the hub itself said that it does not know the token. Another program on its port says nothing about it. */
export function isLoggedOut(error: unknown): boolean {
  return error instanceof UnauthorizedError && error.problem !== null;
}

/** An error in words for a person. */
export function words(error: unknown): string {
  if (isUnreachable(error)) return "The hub cannot be reached";
  if (error instanceof AskdError) return capital(error.problem?.detail ?? error.message);
  return error instanceof Error ? error.message : String(error);
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
