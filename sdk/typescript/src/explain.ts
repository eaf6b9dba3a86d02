/**
 * What an error means for the person in front of a page, and what to do about it.
 *
 * In: an error of a request, and the hub. Out: a code and words. A browser says nothing about why a request failed, so the hub is tried
 * once more in a way that needs no permission.
 */

import { AskdError, ConnectionError, ForbiddenError, NotFoundError, UnauthorizedError } from "./errors.js";

export type ExplainedCode =
  | "not_logged_in"
  | "token_ended"
  | "wrong_right"
  | "origin_not_allowed"
  | "local_network_refused"
  | "insecure_hub"
  | "hub_away"
  | "not_a_hub"
  | "not_found"
  | "ambiguous_call"
  | "other";

export interface Explained {
  code: ExplainedCode;
  /** For a person: what is wrong, and what to do. */
  text: string;
  /** Whether trying again, without any change, may help. */
  isTemporary: boolean;
}

/** A hub answers at once; who does not is away. */
const PROBE_MS = 3000;

/** `isKnown` says that this token has worked before. */
export async function explain(error: unknown, hub: string, isKnown = false): Promise<Explained> {
  if (error instanceof ConnectionError) return unreached(hub);
  if (!(error instanceof AskdError)) {
    return { code: "other", text: error instanceof Error ? error.message : String(error), isTemporary: false };
  }
  const said = error.problem?.detail ?? error.message;
  if (error.problem === null && error.code !== "ambiguous_call" && !error.retryable) {
    const text = `What answers at ${hub} is not an askd hub. Look at the address and the port.`;
    return { code: "not_a_hub", text, isTemporary: false };
  }
  if (error instanceof UnauthorizedError) {
    return isKnown
      ? {
          code: "token_ended",
          text: "The token was revoked, or has expired. Give this page a new one.",
          isTemporary: false,
        }
      : {
          code: "not_logged_in",
          text: "The hub does not know this token. Make one: askd token create --right answer",
          isTemporary: false,
        };
  }
  if (error instanceof ForbiddenError) {
    if (error.code === "origin_not_allowed") return { code: "origin_not_allowed", text: allow(), isTemporary: false };
    const text = `This token is not allowed to do that: ${said}. Make one that may: askd token create --right answer`;
    return { code: "wrong_right", text, isTemporary: false };
  }
  if (error instanceof NotFoundError) return { code: "not_found", text: said, isTemporary: false };
  if (error.code === "ambiguous_call") return { code: "ambiguous_call", text: said, isTemporary: false };
  return { code: "other", text: said, isTemporary: error.retryable };
}

function allow(): string {
  return `The hub does not allow this page. Start it with: askd up --allow-origin ${globalThis.location?.origin ?? "ORIGIN"}`;
}

/** Why no answer came. */
async function unreached(hub: string): Promise<Explained> {
  const away: Explained = {
    code: "hub_away",
    text: `No hub answers at ${hub}. Start it with askd up, or look at the address and the port.`,
    isTemporary: true,
  };
  if (globalThis.location === undefined) return away;
  const { protocol, hostname } = new URL(hub);
  const isHere = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
  if (location.protocol === "https:" && protocol === "http:" && !isHere) {
    const text =
      "A page over https may not talk to a hub over http. Put the hub behind https, or ask it from your back end.";
    return { code: "insecure_hub", text, isTemporary: false };
  }
  if (await isReached(hub)) return { code: "origin_not_allowed", text: allow(), isTemporary: true };
  if (await isLocalNetworkRefused()) {
    const text =
      "The browser keeps this page from the local network. Allow it in the site's settings, or ask the hub from your back end.";
    return { code: "local_network_refused", text, isTemporary: true };
  }
  return away;
}

/** Whether something answers there at all: such a request needs no permission, and its response cannot be read. */
async function isReached(hub: string): Promise<boolean> {
  try {
    await fetch(`${hub}/v1/health`, {
      mode: "no-cors",
      credentials: "omit",
      cache: "no-store",
      signal: AbortSignal.timeout(PROBE_MS),
    });
    return true;
  } catch {
    return false;
  }
}

async function isLocalNetworkRefused(): Promise<boolean> {
  for (const name of ["loopback-network", "local-network-access", "local-network"]) {
    try {
      const { state } = await navigator.permissions.query({ name: name as PermissionName });
      if (state === "denied") return true;
    } catch {
      // This browser has no such permission.
    }
  }
  return false;
}
