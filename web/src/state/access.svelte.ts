/** Log-in: a one-time code in the link's fragment, exchanged for a token that stays in this browser. No cookie. */

import { type AskdClient, hubFor, UnauthorizedError, words } from "../api.ts";
import { read, write } from "./storage.ts";

/** What a link has in its fragment; one that was cut inside an escape is no code, and the hub says so. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

class Access {
  hub = $state.raw<AskdClient | null>(null);
  /** Why there is no way in, for the log-in screen. */
  refusal = $state("");
  busy = $state(false);

  async start(): Promise<void> {
    const code = /^#login=(.+)$/.exec(location.hash)?.[1];
    const token = read<string>("token");
    if (code) {
      // The code must not stay in the address or the history, even if it is used up.
      history.replaceState(null, "", "#/inbox");
      dispatchEvent(new HashChangeEvent("hashchange"));
      await this.logIn(decoded(code), token);
    } else if (token) {
      this.hub = hubFor(token);
    }
  }

  async logIn(code: string, fallback: string | null = null): Promise<void> {
    this.busy = true;
    try {
      this.#enter(await hubFor().logIn(code));
    } catch (error) {
      // An old link opened in a browser that is logged in already is no reason to lock the person out.
      if (fallback) this.hub = hubFor(fallback);
      else this.refusal = words(error);
    } finally {
      this.busy = false;
    }
  }

  /** What was pasted into the log-in screen: a link, a code or a token. */
  async enterWith(text: string): Promise<void> {
    const code = /#login=([^\s]+)/.exec(text)?.[1];
    if (code) return this.logIn(code);
    this.busy = true;
    try {
      await hubFor(text.trim()).questions.list({ limit: 1 }).page();
      this.#enter(text.trim());
    } catch (error) {
      if (error instanceof UnauthorizedError) await this.logIn(text.trim());
      else this.refusal = words(error);
    } finally {
      this.busy = false;
    }
  }

  #enter(token: string): void {
    write("token", token);
    this.refusal = "";
    this.hub = hubFor(token);
  }

  /** The hub no longer knows the token. Drafts stay. */
  leave(reason = ""): void {
    write("token", null);
    this.refusal = reason;
    this.hub = null;
  }
}

export const access = new Access();
