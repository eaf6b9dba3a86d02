/** Log-in: a one-time code in the link's fragment, exchanged for a token that stays in this browser. No cookie. */

import { Hub } from "../api/client.ts";
import { Problem } from "../api/problem.ts";
import { read, write } from "./storage.ts";

class Access {
  hub = $state.raw<Hub | null>(null);
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
      await this.logIn(decodeURIComponent(code), token);
    } else if (token) {
      this.hub = new Hub(token);
    }
  }

  async logIn(code: string, fallback: string | null = null): Promise<void> {
    this.busy = true;
    try {
      this.#enter(await Hub.login(code));
    } catch (error) {
      // An old link opened in a browser that is logged in already is no reason to lock the person out.
      if (fallback) this.hub = new Hub(fallback);
      else this.refusal = error instanceof Problem ? error.message : String(error);
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
      const hub = new Hub(text.trim());
      await hub.questions({ limit: 1 });
      this.#enter(hub.token);
    } catch (error) {
      if (error instanceof Problem && error.status === 401) await this.logIn(text.trim());
      else this.refusal = error instanceof Problem ? error.message : String(error);
    } finally {
      this.busy = false;
    }
  }

  #enter(token: string): void {
    write("token", token);
    this.refusal = "";
    this.hub = new Hub(token);
  }

  /** The hub no longer knows the token. Drafts stay. */
  leave(reason = ""): void {
    write("token", null);
    this.refusal = reason;
    this.hub = null;
  }
}

export const access = new Access();
