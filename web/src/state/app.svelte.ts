/** The parts of a logged-in page: hub, inbox, and a form for every question that was opened. */

import { getContext, setContext } from "svelte";

import type { AskdClient, Question } from "../api.ts";
import { agentName, headline } from "../text/names.ts";
import { access } from "./access.svelte.ts";
import { announcer } from "./announce.svelte.ts";
import { Form } from "./form.svelte.ts";
import { Inbox } from "./inbox.svelte.ts";
import { announceAsked, withdraw } from "./notify.ts";

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
      asked: (question) => {
        announcer.say(`New question from ${agentName(question.agent)}: ${headline(question)}`);
        announceAsked(question);
      },
      settled: (question) => {
        withdraw(question.id);
        const form = this.#forms.get(question.id);
        if (form?.onScreen && !form.endedAsWanted(question)) this.keysRest = true;
      },
      refused: (reason) => access.leave(reason),
    });
  }

  form(question: Question): Form {
    let form = this.#forms.get(question.id);
    if (!form) {
      form = new Form(question, (settled) => this.inbox.take(settled));
      this.#forms.set(question.id, form);
    }
    return form;
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
