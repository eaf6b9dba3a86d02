/** The parts of a logged-in page: hub, inbox, and a form for every question that was opened. */

import { getContext, setContext } from "svelte";

import type { AskdClient, Question } from "../api.ts";
import { agentName, headline } from "../text/names.ts";
import { access } from "./access.svelte.ts";
import { announcer } from "./announce.svelte.ts";
import { Form } from "./form.svelte.ts";
import { Inbox } from "./inbox.svelte.ts";
import { announceAsked, withdraw, withdrawAllBut } from "./notify.ts";
import { router } from "./route.svelte.ts";

export class AppState {
  readonly inbox: Inbox;
  /** The question shown because it was the oldest when the page had nothing open; never replaced by itself. */
  pinned = $state<string | null>(null);
  helpOpen = $state(false);
  /** A question ended under the person's hands. Keys that were meant for it do nothing until he shows that he has seen it. */
  keysRest = $state(false);
  /** The question that was answered last here, while the one that came up by itself after it is shown. */
  receipt = $state.raw<{ id: string; above: string } | null>(null);
  readonly #forms = new Map<string, Form>();

  constructor(readonly hub: AskdClient) {
    this.inbox = new Inbox(hub, {
      asked: (question, leads) => {
        announcer.say(`New question from ${agentName(question.agent)}: ${headline(question)}`);
        if (leads) announceAsked(question);
      },
      settled: (question) => {
        withdraw(question.id);
        const form = this.#forms.get(question.id);
        // While an answer is on its way, only the hub's word to it tells whose outcome this is.
        if (form?.onScreen && form.phase !== "sending" && !form.endedAsWanted(question)) this.keysRest = true;
      },
      loggedOut: (reason) => access.leave(reason),
      listed: (open) => withdrawAllBut(open),
    });
  }

  form(question: Question): Form {
    let form = this.#forms.get(question.id);
    if (!form) {
      const made = new Form(
        question,
        (settled) => {
          this.inbox.take(settled);
          this.#goOn(made, settled);
        },
        () => {
          if (made.onScreen) this.keysRest = true;
        },
      );
      form = made;
      this.#forms.set(question.id, form);
    }
    return form;
  }

  /** An answer that was accepted brings up the next open question. Where something is left to be read or copied, the person goes on himself. */
  #goOn(form: Form, settled: Question): void {
    const rests = !form.onScreen || this.keysRest || router.current.page !== "inbox";
    if (rests || settled.status === "requested" || !form.endedAsWanted(settled) || form.needsRescue(settled)) return;
    const next = this.next(settled.id);
    if (!next) return;
    form.settle(settled);
    this.receipt = { id: settled.id, above: next.id };
    const what = settled.status === "rejected" ? "decision" : "answer";
    announcer.say(`Your ${what} was accepted. Next question from ${agentName(next.agent)}: ${headline(next)}`);
    router.go("inbox", next.id);
  }

  /** Shows what other tabs of this browser store as drafts. */
  followDrafts(): () => void {
    const changed = ({ key }: StorageEvent): void => {
      const id = /^askd\.draft\.(.+)$/.exec(key ?? "")?.[1];
      if (id) this.#forms.get(id)?.follow();
    };
    addEventListener("storage", changed);
    return () => removeEventListener("storage", changed);
  }

  /** The open question after this one, for going on without the list. */
  next(id: string): Question | undefined {
    const open = this.inbox.open.filter((question) => question.id !== id);
    const here = this.inbox.get(id)?.seq ?? 0;
    return open.find(({ seq }) => seq > here) ?? open[0];
  }
}

const KEY = Symbol("app");

export function provideApp(app: AppState): void {
  setContext(KEY, app);
}

export function useApp(): AppState {
  return getContext<AppState>(KEY);
}
