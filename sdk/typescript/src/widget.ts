/**
 * `<askd-question>`: one question in anybody's page. Hidden until there is one, then a form, then "waiting for the agent", then a summary.
 *
 * In: `question-id` or `call-id` (with `session` where calls are not unique), and `hub` with `token`, or the property `client`.
 * Out: the answer at the hub, and the events `askd-asked`, `askd-accepted`, `askd-settled` with `detail.question`.
 * Agents' text is only ever set as text, never as HTML. Importing this module defines the element.
 */

import { AskdClient } from "./client.js";
import { AlreadySettledError, AskdError, ConnectionError, InvalidRequestError } from "./errors.js";
import { isOlder, isTravelling, triesOf } from "./newer.js";
import type { Question } from "./types.js";
import { element } from "./widget-dom.js";
import { QuestionForm, type Given } from "./widget-form.js";
import { STYLE } from "./widget-style.js";
import { summary } from "./widget-summary.js";

export type WidgetState = "hidden" | "asking" | "sending" | "waiting" | "settled" | "failed";

/** Node can import this module, for types and for servers that render pages; only browsers have elements. */
const Base = (globalThis.HTMLElement ?? class {}) as typeof HTMLElement;

export class AskdQuestionElement extends Base {
  static readonly observedAttributes = ["question-id", "call-id", "session", "hub", "token"];

  #client: AskdClient | null = null;
  #stop: AbortController | null = null;
  #question: Question | null = null;
  #form: QuestionForm | null = null;
  #key: { text: string; key: string } | null = null;
  #restart = false;

  /** A client of your own, instead of the attributes `hub` and `token`. */
  set client(client: AskdClient | null) {
    this.#client = client;
    this.#begin();
  }

  get client(): AskdClient | null {
    return this.#client;
  }

  /** The question as it was last heard of. */
  get question(): Question | null {
    return this.#question;
  }

  get state(): WidgetState {
    return (this.getAttribute("state") as WidgetState | null) ?? "hidden";
  }

  /** The focus goes to the question's text: never to a button, where the next Enter would act. */
  override focus(options?: FocusOptions): void {
    const text = this.#question?.status === "requested" ? this.#form?.text : null;
    if (text) text.focus(options);
    else super.focus(options);
  }

  connectedCallback(): void {
    if (!this.shadowRoot) {
      const root = this.attachShadow({ mode: "open", delegatesFocus: true });
      // A sheet made by script is allowed by policies that forbid inline style.
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(STYLE);
      root.adoptedStyleSheets = [sheet];
    }
    this.#begin();
  }

  disconnectedCallback(): void {
    this.#stop?.abort();
  }

  attributeChangedCallback(_name: string, before: string | null, after: string | null): void {
    if (before !== after) this.#begin();
  }

  /** Starts over, once for all attributes that change together. */
  #begin(): void {
    if (this.#restart || !this.isConnected) return;
    this.#restart = true;
    queueMicrotask(() => {
      this.#restart = false;
      this.#stop?.abort();
      if (!this.isConnected) return;
      this.#stop = new AbortController();
      this.#form?.gone();
      this.#question = this.#form = null;
      this.#show("hidden");
      this.#follow(this.#stop.signal);
    });
  }

  #hub(): AskdClient | null {
    if (this.#client) return this.#client;
    const [url, token] = [this.getAttribute("hub"), this.getAttribute("token")];
    return token === null ? null : new AskdClient({ url: url ?? undefined, token, surface: "web" });
  }

  #follow(signal: AbortSignal): void {
    const hub = this.#hub();
    const [questionId, callId, session] = ["question-id", "call-id", "session"].map(
      (name) => this.getAttribute(name) ?? undefined,
    );
    if (!hub || (questionId === undefined && callId === undefined)) return;
    hub.watchQuestion(
      { questionId, callId, session },
      ({ question, connection, error }) => {
        if (question && question !== this.#question) this.#take(question);
        if (connection === "stopped" && error) this.#fail(error);
        // A hub that is away when the page is opened is tried again, but somebody should know: a browser does not tell it from one that
        // does not allow this page.
        else if (!this.#question && connection === "lost") this.#fail(error);
        else if (!this.#question && this.state === "failed") this.#show("hidden");
      },
      { signal },
    );
  }

  #take(question: Question): void {
    const [before, was] = [this.#question, this.state];
    // The response and the stream race each other; an older view must not win.
    if (before && isOlder(question, before)) return;
    this.#question = question;
    if (question.status === "requested") {
      if (before && triesOf(question) === triesOf(before)) return;
      // Opened again: the same answer is another try, not the same request.
      this.#key = null;
      this.#form?.gone();
      this.#form = new QuestionForm(question, (given) => void this.#send(given));
      this.#show("asking", this.#form.root);
      this.#form.shown();
      this.#tell("askd-asked");
      return;
    }
    this.#form?.gone();
    const state = isTravelling(question) ? "waiting" : "settled";
    this.#show(state, summary(question, this.#form?.typed() ?? ""));
    if (before?.status === "requested") this.#tell("askd-accepted");
    // The response and the stream both tell it.
    if (state === "settled" && was !== "settled") this.#tell("askd-settled");
  }

  async #send(given: Given): Promise<void> {
    const [hub, question, form] = [this.#hub(), this.#question, this.#form];
    if (!hub || !question || !form || this.state === "sending") return;
    this.setAttribute("state", "sending");
    form.busy(true);
    const idempotencyKey = this.#keyFor(JSON.stringify(given));
    try {
      const settled =
        "answers" in given
          ? await hub.questions.reply(question.id, given.answers, {
              notes: given.notes,
              editedPlan: given.editedPlan,
              nextMode: given.nextMode,
              idempotencyKey,
            })
          : await hub.questions.reject(question.id, { ...given, idempotencyKey });
      // Another question may have taken this one's place meanwhile: the response is not about that one.
      if (this.#form !== form) return;
      form.sent();
      this.#take(settled);
    } catch (error) {
      if (this.#form !== form) return;
      if (error instanceof AlreadySettledError) return this.#take(error.question);
      this.setAttribute("state", "asking");
      form.busy(false);
      const lost = error instanceof ConnectionError ? "The hub cannot be reached. Sending again is safe." : null;
      form.complain(lost ?? messageOf(error), error instanceof InvalidRequestError ? error.errors : []);
    }
  }

  /** The same answer again has the same key, so the hub never takes it twice. */
  #keyFor(text: string): string {
    if (this.#key?.text !== text) {
      const bytes = crypto.getRandomValues(new Uint8Array(16));
      this.#key = { text, key: Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("") };
    }
    return this.#key.key;
  }

  #fail(error: unknown): void {
    this.#show("failed", element("p", { class: "problem", role: "alert" }, messageOf(error)));
  }

  #show(state: WidgetState, ...content: Node[]): void {
    this.setAttribute("state", state);
    this.shadowRoot?.replaceChildren(...content);
  }

  #tell(name: string): void {
    this.dispatchEvent(new CustomEvent(name, { detail: { question: this.#question }, bubbles: true, composed: true }));
  }
}

function messageOf(error: unknown): string {
  if (error instanceof AskdError) return error.problem?.detail ?? error.message;
  return error instanceof Error ? error.message : String(error);
}

if (globalThis.customElements && !customElements.get("askd-question")) {
  customElements.define("askd-question", AskdQuestionElement);
}

declare global {
  interface HTMLElementTagNameMap {
    "askd-question": AskdQuestionElement;
  }
}
