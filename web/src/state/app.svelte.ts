/** The parts of a logged-in page: hub, inbox, and a form for every question that was opened. */

import { getContext, setContext } from "svelte";

import type { AskdClient, Question } from "../api.ts";
import { agentName, headline } from "../text/names.ts";
import { access } from "./access.svelte.ts";
import { announcer } from "./announce.svelte.ts";
import { Form } from "./form.svelte.ts";
import { Inbox } from "./inbox.svelte.ts";
import { announceAsked, withdraw, withdrawAllBut } from "./notify.ts";

export class AppState {
  readonly inbox: Inbox;
  /** The question shown because it was the oldest when the page had nothing open; never replaced by itself. */
  pinned = $state<string | null>(null);
  helpOpen = $state(false);
  /** A question ended under the person's hands. Keys that were meant for it do nothing until he shows that he has seen it. */
  keysRest = $state(false);
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
        (settled) => this.inbox.take(settled),
        () => {
          if (made.onScreen) this.keysRest = true;
        },
      );
      form = made;
      this.#forms.set(question.id, form);
    }
    return form;
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
