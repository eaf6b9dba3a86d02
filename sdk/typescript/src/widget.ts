/**
 * `<askd-question>`: one question in anybody's page. Hidden until there is one, then a form, then "waiting for the agent", then a summary.
 *
 * In: `question-id` or `call-id` (with `session` where calls are not unique), and `hub` with `token`, or the property `client`.
 * Out: the answer at the hub, events with the question, and attributes for the page's style.
 * Agents' text is only ever set as text, never as HTML. Importing this module defines the element.
 */

import { AskdClient } from "./client.js";
import { AlreadySettledError, ConnectionError, InvalidRequestError } from "./errors.js";
import { type Explained, explain } from "./explain.js";
import { isOlder, isTravelling, triesOf } from "./newer.js";
import type { Question } from "./types.js";
import type { QuestionState, QuestionWatch } from "./watch-question.js";
import { button, element } from "./widget-dom.js";
import { draftOf, keepDraft } from "./widget-drafts.js";
import { type Given, QuestionForm } from "./widget-form.js";
import { STYLE } from "./widget-style.js";
import { summary } from "./widget-summary.js";
import { say } from "./widget-words.js";

export { useWords, type Words } from "./widget-words.js";

export type WidgetState = "hidden" | "misconfigured" | "asking" | "sending" | "waiting" | "settled" | "failed";

/** What the events carry. */
export interface AskdQuestionDetail {
  question: Question;
}

export interface AskdFailedDetail extends Explained {
  error: unknown;
  question: Question | null;
}

/** Each comes once: `asked` again only when a question is opened anew because its answer did not arrive. */
export interface AskdQuestionEvents {
  "askd-asked": CustomEvent<AskdQuestionDetail>;
  /** The hub has taken an answer or a rejection, from here or from elsewhere. */
  "askd-accepted": CustomEvent<AskdQuestionDetail>;
  /** The answer is on its way to the agent. */
  "askd-waiting": CustomEvent<AskdQuestionDetail>;
  "askd-settled": CustomEvent<AskdQuestionDetail>;
  "askd-failed": CustomEvent<AskdFailedDetail>;
}

export interface AskdQuestionElement {
  addEventListener<Name extends keyof AskdQuestionEvents>(
    type: Name,
    listener: (this: AskdQuestionElement, event: AskdQuestionEvents[Name]) => unknown,
    options?: boolean | AddEventListenerOptions,
  ): void;
  addEventListener<Name extends keyof HTMLElementEventMap>(
    type: Name,
    listener: (this: HTMLElement, event: HTMLElementEventMap[Name]) => unknown,
    options?: boolean | AddEventListenerOptions,
  ): void;
  addEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject | null,
    options?: boolean | AddEventListenerOptions,
  ): void;
  removeEventListener<Name extends keyof AskdQuestionEvents>(
    type: Name,
    listener: (this: AskdQuestionElement, event: AskdQuestionEvents[Name]) => unknown,
    options?: boolean | EventListenerOptions,
  ): void;
  removeEventListener<Name extends keyof HTMLElementEventMap>(
    type: Name,
    listener: (this: HTMLElement, event: HTMLElementEventMap[Name]) => unknown,
    options?: boolean | EventListenerOptions,
  ): void;
  removeEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject | null,
    options?: boolean | EventListenerOptions,
  ): void;
}

/** Frameworks set attributes and properties one after the other: only what is still missing then is a mistake. */
const CONFIGURE_MS = 1000;

/** Node can import this module, for types and for servers that render pages; only browsers have elements. */
const Base = (globalThis.HTMLElement ?? class {}) as typeof HTMLElement;

/** One sheet for all elements of a page. */
let sheet: CSSStyleSheet | undefined;

// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the interface above only types the events.
export class AskdQuestionElement extends Base {
  static readonly observedAttributes = ["question-id", "call-id", "session", "hub", "token", "no-notes", "no-refusal"];

  #client: AskdClient | null = null;
  /** The client that is used, and what of the configuration it and the form were made for. */
  #hub: AskdClient | null = null;
  #which = "";
  #watch: QuestionWatch | null = null;
  #question: Question | null = null;
  #form: QuestionForm | null = null;
  /** What this element has given and the hub has taken. */
  #given: Given | null = null;
  #key: { text: string; key: string } | null = null;
  /** While an answer is under way: what the stream says of its question meanwhile, perhaps before the response. */
  #held: Question | null = null;
  #beginning = false;
  #hadFocus = false;
  #configuring: ReturnType<typeof setTimeout> | undefined;
  /** Which events were told of this question. */
  #told = new Set<string>();

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
      if (!sheet) {
        // A sheet made by script is allowed by policies that forbid inline style.
        sheet = new CSSStyleSheet();
        sheet.replaceSync(STYLE);
      }
      root.adoptedStyleSheets = [sheet];
    }
    this.#begin();
  }

  disconnectedCallback(): void {
    this.#keep();
    this.#form?.gone();
    this.#watch?.stop();
    this.#watch = null;
    clearTimeout(this.#configuring);
  }

  attributeChangedCallback(_name: string, before: string | null, after: string | null): void {
    if (before !== after) this.#begin();
  }

  /** Begins, or goes on where it was, once for all attributes that change together. */
  #begin(): void {
    if (this.#beginning || !this.isConnected) return;
    this.#beginning = true;
    queueMicrotask(() => {
      this.#beginning = false;
      if (this.isConnected) this.#configure();
    });
  }

  #configure(): void {
    clearTimeout(this.#configuring);
    const hub = this.#hubNow();
    const names = ["question-id", "call-id", "session", "no-notes", "no-refusal"];
    const which = JSON.stringify(names.map((name) => this.getAttribute(name)));
    const isSame = hub !== null && this.#hub !== null && which === this.#which && isSameHub(hub, this.#hub);
    if (isSame && this.#watch) return;
    if (!isSame) this.#reset();
    [this.#hub, this.#which] = [hub, which];
    // It was moved: its form goes on as it is, as new as one that was just drawn.
    if (this.#question?.status === "requested" && this.state !== "failed") this.#form?.shown();
    const isAsked = this.hasAttribute("question-id") || this.hasAttribute("call-id");
    if (hub && isAsked) this.#follow(hub);
    else if (hub || isAsked) {
      const missing = isAsked ? say.noToken : say.noId;
      this.#configuring = setTimeout(() => this.#misconfigured(missing), CONFIGURE_MS);
    }
  }

  #reset(): void {
    this.#keep();
    this.#watch?.stop();
    this.#form?.gone();
    this.#watch = this.#question = this.#form = this.#given = this.#key = this.#held = null;
    this.#told.clear();
    this.#show("hidden");
  }

  #hubNow(): AskdClient | null {
    if (this.#client) return this.#client;
    const [url, token] = [this.getAttribute("hub"), this.getAttribute("token")];
    if (token === null) return null;
    try {
      return new AskdClient({ url: url ?? undefined, token, surface: "web" });
    } catch {
      this.#configuring = setTimeout(() => this.#misconfigured(say.badHub(url ?? "")));
      return null;
    }
  }

  #follow(hub: AskdClient): void {
    const [questionId, callId, session] = ["question-id", "call-id", "session"].map(
      (name) => this.getAttribute(name) ?? undefined,
    );
    if (!this.#question) this.toggleAttribute("loading", true);
    const watch = hub.watchQuestion({ questionId, callId, session }, (state) => {
      if (this.#watch === watch) this.#hear(state);
    });
    this.#watch = watch;
  }

  #hear({ question, connection, error }: QuestionState): void {
    this.toggleAttribute("offline", connection === "lost");
    // The call is known, and its question not asked yet: nothing is loading.
    if (connection === "live" && !this.hasAttribute("question-id")) this.removeAttribute("loading");
    if (question && question !== this.#question) this.#take(question);
    if (connection === "live") this.#form?.isBack();
    if (connection === "stopped" && error) void this.#fail(error);
    // A hub that is away when the page is opened is tried again, but somebody should know.
    else if (!this.#question && connection === "lost") void this.#fail(error);
    else if (!this.#question && connection === "live" && this.state === "failed") this.#show("hidden");
  }

  #take(question: Question): void {
    const { state } = this;
    const before = this.#question;
    // The response and the stream race each other; an older view must not win.
    if (before && isOlder(question, before)) return;
    this.removeAttribute("loading");
    if (state === "sending" && question.status !== "requested") {
      this.#held = question;
      return;
    }
    const isSameTry = before !== null && triesOf(question) === triesOf(before);
    this.#question = question;
    if (question.status === "requested") {
      if (isSameTry && this.#form && state !== "failed") return;
      this.#ask(question);
      return;
    }
    this.#end(question);
  }

  #ask(question: Question): void {
    // Opened again: the same answer is another try, not the same request.
    this.#key = this.#given = this.#held = null;
    this.#hadFocus = false;
    this.#form?.gone();
    const without = { notes: this.hasAttribute("no-notes"), refusal: this.hasAttribute("no-refusal") };
    this.#form = new QuestionForm(question, (given) => void this.#send(given), without);
    const draft = draftOf(this.#draftKey(question));
    if (draft) this.#form.restore(draft);
    this.#mark(question);
    this.#show("asking", this.#form.root);
    this.#form.shown();
    this.#tell("askd-asked");
  }

  #end(question: Question): void {
    const form = this.#form;
    const hadFocus = form !== null && (this.#hadFocus || this.shadowRoot?.activeElement != null);
    form?.gone();
    keepDraft(this.#draftKey(question), null);
    this.#mark(question);
    const shown = summary(question, form?.unused() ?? { picks: [], typed: "" }, this.#given !== null);
    this.#show(isTravelling(question) ? "waiting" : "settled", shown);
    // Where the reader was: the page's beginning is no place to go on from.
    if (hadFocus) shown.focus({ preventScroll: true });
    if (form && (question.status === "answered" || question.status === "rejected")) this.#tell("askd-accepted");
    this.#tell(isTravelling(question) ? "askd-waiting" : "askd-settled");
  }

  /** States that a page can style. */
  #mark({ kind, outcome, delivery }: Question): void {
    this.setAttribute("kind", kind);
    const marks = {
      outcome: outcome?.status,
      delivery: delivery?.state,
      by: outcome && (this.#given ? "here" : "elsewhere"),
    };
    for (const [name, value] of Object.entries(marks)) {
      if (value) this.setAttribute(name, value);
      else this.removeAttribute(name);
    }
  }

  async #send(given: Given): Promise<void> {
    const [hub, question, form] = [this.#hub, this.#question, this.#form];
    if (!hub || !question || !form || this.state === "sending") return;
    this.setAttribute("state", "sending");
    // A button that is pressed, and then disabled, loses the focus.
    this.#hadFocus = this.shadowRoot?.activeElement != null;
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
      form.sent(given);
      this.#given = given;
      this.#arrived(settled);
    } catch (error) {
      if (this.#form !== form) return;
      if (error instanceof AlreadySettledError) return this.#arrived(error.question);
      // The response is lost, and the stream has told how the question ended.
      if (this.#held) {
        if (isGiven(given, this.#held)) {
          form.sent(given);
          this.#given = given;
        }
        return this.#arrived(this.#held);
      }
      this.setAttribute("state", "asking");
      form.busy(false);
      if (error instanceof InvalidRequestError)
        return form.complain(error.problem?.detail ?? error.message, error.errors);
      if (error instanceof ConnectionError) return form.complain(say.lost, []);
      const told = await explain(error, hub.url, true);
      if (this.#form === form) form.complain(told.text, []);
      this.#tell("askd-failed", { ...told, error, question });
    }
  }

  /** It is known how the question ended, and whose word that was. */
  #arrived(settled: Question): void {
    const held = this.#held;
    this.#held = null;
    this.setAttribute("state", "asking");
    this.#take(held && isOlder(settled, held) ? held : settled);
    this.#watch?.take(settled);
  }

  /** The same answer again has the same key, so the hub never takes it twice. */
  #keyFor(text: string): string {
    if (this.#key?.text !== text) {
      const bytes = crypto.getRandomValues(new Uint8Array(16));
      this.#key = { text, key: Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("") };
    }
    return this.#key.key;
  }

  #draftKey(question: Question): string {
    return `${this.#hub?.url ?? ""} ${question.id} ${triesOf(question)}`;
  }

  /** Another element may show the same question later. */
  #keep(): void {
    const [question, form] = [this.#question, this.#form];
    if (question?.status === "requested" && form) keepDraft(this.#draftKey(question), form.draft());
  }

  #misconfigured(text: string): void {
    if (!this.isConnected) return;
    this.#show("misconfigured", element("p", { class: "problem", part: "problem", role: "alert" }, text));
  }

  async #fail(error: unknown): Promise<void> {
    const [watch, question] = [this.#watch, this.#question];
    const told = await explain(error, this.#hub?.url ?? "", question !== null);
    // Meanwhile it may have been found after all.
    if (this.#watch !== watch || this.#question !== question || this.state === "settled") return;
    if (this.state === "failed" && this.getAttribute("error") === told.code) return;
    this.#keep();
    this.#form?.gone();
    const again = button(say.again, () => this.#again(), { part: "again" });
    const text = element("p", { class: "problem", part: "problem", role: "alert" }, told.text);
    this.#show("failed", element("div", { class: "failed", part: "failed" }, text, again));
    this.setAttribute("error", told.code);
    this.#tell("askd-failed", { ...told, error, question });
  }

  #again(): void {
    this.#reset();
    this.#configure();
  }

  #show(state: WidgetState, ...content: Node[]): void {
    if (state === "hidden")
      for (const name of ["outcome", "delivery", "by", "kind", "loading", "offline"]) this.removeAttribute(name);
    this.removeAttribute("error");
    this.setAttribute("state", state);
    const slot = (name: string) => element("slot", { name });
    this.shadowRoot?.replaceChildren(
      ...(state === "hidden" ? [slot("loading")] : [slot("before"), ...content, slot("after")]),
    );
  }

  #tell<Name extends keyof AskdQuestionEvents>(
    name: Name,
    detail: AskdQuestionEvents[Name]["detail"] | { question: Question | null } = { question: this.#question },
  ): void {
    const once = name === "askd-failed" ? "" : `${name} ${this.#question ? triesOf(this.#question) : 0}`;
    if (once !== "" && this.#told.has(once)) return;
    this.#told.add(once);
    this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true }));
  }
}

/** Whether a question ended by just this answer. */
function isGiven(given: Given, { outcome }: Question): boolean {
  if (!("answers" in given)) return outcome?.status === "rejected" && (outcome.reason ?? "") === (given.reason ?? "");
  const plain = (all: { picks?: string[]; words?: string[] }[]) =>
    JSON.stringify(all.map(({ picks = [], words = [] }) => [[...picks].sort(), words]));
  return outcome?.status === "answered" && plain(outcome.answers) === plain(given.answers);
}

function isSameHub(one: AskdClient, other: AskdClient): boolean {
  return one === other || one.isLike(other);
}

if (globalThis.customElements && !customElements.get("askd-question")) {
  customElements.define("askd-question", AskdQuestionElement);
}

declare global {
  interface HTMLElementTagNameMap {
    "askd-question": AskdQuestionElement;
  }
}
