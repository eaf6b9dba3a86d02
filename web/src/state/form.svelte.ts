/**
 * One question's form while it is being answered: the draft, what was sent, what the hub said. Nothing here claims success:
 * the question itself, as the hub returned it, does that.
 */

import {
  AlreadySettledError,
  type AskdClient,
  type FieldError,
  InvalidRequestError,
  isUnreachable,
  PATIENCE_MS,
  type Question,
  type RejectMode,
  words,
} from "../api.ts";
import {
  type Draft,
  type ExplicitReply,
  isField,
  requiredMissing,
  toReply,
  typedText,
  unanswered,
} from "../answer/draft.ts";
import { isOurs, type Sent } from "../answer/rescue.ts";
import { KeptDraft } from "./drafts.ts";

export type Phase = "editing" | "sending" | "failed";

export class Form {
  draft = $state<Draft>() as Draft;
  phase = $state<Phase>("editing");
  /** What is wrong with which item. */
  errors = $state.raw<FieldError[]>([]);
  /** What is wrong with the whole. */
  failure = $state("");
  /** Items that were pointed at; a second Submit sends them empty. */
  pointedAt = $state.raw<number[]>([]);
  /** Own words were left by Escape: they may be half written, so the next Enter does not send them. */
  left = $state(false);
  /** The item that keys act on; one past the last is the review. */
  active = $state(0);
  rejecting = $state(false);
  sent = $state.raw<Sent | null>(null);
  rescueDismissed = $state(false);
  /** Another answer was taken before the one that was sent from here. */
  lost = $state(false);
  /** Whether a person can see it. */
  onScreen = false;
  /** The hub took what was sent from here. */
  #accepted = $state(false);
  /** What a person had typed when the answer was sent. */
  #sentWords = "";
  readonly #kept: KeptDraft;
  #key: { text: string; key: string } | null = null;

  constructor(
    readonly question: Question,
    private readonly took: (question: Question) => void,
    /** Called when the hub took another answer than the one that was sent from here. */
    private readonly lostTo: () => void,
  ) {
    this.#kept = new KeptDraft(question);
    this.draft = this.#kept.load();
  }

  save(): void {
    this.#kept.save(this.draft);
  }

  /** Another tab has stored a draft: it is shown here too, unless something was changed here since. */
  follow(): void {
    if (!this.#kept.isChanged(this.draft)) this.draft = this.#kept.load();
  }

  typed(): string {
    return typedText(this.question, this.draft);
  }

  errorsOf(index: number): FieldError[] {
    return this.errors.filter(({ item }) => item === index);
  }

  /** Something was changed: what was pointed at may no longer be true. */
  touched(): void {
    this.left = false;
    if (this.errors.length > 0) this.errors = [];
    if (this.pointedAt.length > 0) this.pointedAt = [];
    if (this.phase === "failed") {
      this.phase = "editing";
      this.failure = "";
    }
  }

  /** Points at what is missing, and returns the item to look at. Nothing is sent. */
  say(): number | null {
    const missing = requiredMissing(this.question, this.draft);
    this.errors = missing;
    if (missing.length > 0) return missing[0]?.item ?? null;
    const empty = unanswered(this.question, this.draft);
    // Where every field holds what the asker suggested, the person has still to say that he wants it.
    this.pointedAt = empty.length > 0 ? empty : this.question.questions.map((_, i) => i);
    return this.pointedAt[0] ?? null;
  }

  async submit(hub: AskdClient): Promise<void> {
    await this.#send(hub, { reply: toReply(this.question, this.draft) });
  }

  /** Picks the only option of a plan. */
  async approve(hub: AskdClient, edited: boolean): Promise<void> {
    const answers = this.question.questions.map(({ options }) => ({
      picks: options.slice(0, 1).map(({ value }) => value),
      words: [],
    }));
    const reply: ExplicitReply = { ...toReply(this.question, this.draft), answers };
    if (edited && this.draft.editedPlan !== null) reply.editedPlan = this.draft.editedPlan;
    await this.#send(hub, { reply });
  }

  async reject(hub: AskdClient, mode: RejectMode): Promise<void> {
    const reason = this.draft.reason.trim();
    await this.#send(hub, { rejection: reason === "" ? { mode } : { mode, reason } });
  }

  async #send(hub: AskdClient, sent: Sent): Promise<void> {
    if (this.phase === "sending") return;
    this.phase = "sending";
    this.failure = "";
    this.errors = [];
    this.sent = sent;
    this.#accepted = false;
    this.#sentWords = this.typed();
    const key = this.#keyFor(JSON.stringify(sent));
    try {
      const options = { idempotencyKey: key, signal: AbortSignal.timeout(PATIENCE_MS) };
      const settled =
        "reply" in sent
          ? await hub.questions.reply(this.question.id, sent.reply.answers, { ...replyOptions(sent.reply), ...options })
          : await hub.questions.reject(this.question.id, { ...sent.rejection, ...options });
      this.phase = "editing";
      this.#accepted = true;
      // If it does not arrive, the question is opened again, and the same answer is another request.
      this.#key = null;
      this.took(settled);
    } catch (error) {
      this.#failed(error);
    }
  }

  #failed(error: unknown): void {
    if (error instanceof AlreadySettledError) {
      this.phase = "editing";
      this.lost = true;
      this.took(error.question);
      this.lostTo();
      return;
    }
    this.phase = "failed";
    const errors = error instanceof InvalidRequestError ? error.errors : [];
    this.errors = errors.filter(({ item }) => typeof item === "number");
    const general = errors.filter(({ item }) => typeof item !== "number").map(({ message }) => message);
    if (isUnreachable(error)) {
      this.failure = `${words(error)}. Your answer is kept here; whether it arrived is not known yet. Sending it again is safe.`;
    } else if (this.errors.length === 0) {
      this.failure = general.join("; ") || words(error);
    }
  }

  /** The same answer again has the same key, so the hub never takes it twice. */
  #keyFor(text: string): string {
    if (this.#key?.text !== text) this.#key = { text, key: randomKey() };
    return this.#key.key;
  }

  /** Whether the question ended as this person wanted: by the hub's word to what was sent, or where that was lost, by the outcome. */
  endedAsWanted(question: Question): boolean {
    if (this.lost) return false;
    return this.#accepted || isOurs(question, this.sent);
  }

  /** Whether typed words would be lost with the form: the question ended otherwise, or they were typed after the answer was sent. */
  needsRescue(question: Question): boolean {
    const words = this.typed();
    return !this.rescueDismissed && words !== "" && !(this.endedAsWanted(question) && words === this.#sentWords);
  }

  /** The question has ended: a draft whose words are sent, or that has none, has done its work. */
  settle(question: Question): void {
    if (this.phase !== "sending" && !this.needsRescue(question)) this.#kept.drop();
  }

  dismissRescue(): void {
    this.rescueDismissed = true;
    this.#kept.drop();
  }

  get hasOnlyFields(): boolean {
    return this.question.questions.every(isField);
  }
}

/** Not crypto.randomUUID, which browsers refuse on plain HTTP from another machine. */
function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function replyOptions({ notes, editedPlan, nextMode }: ExplicitReply): {
  notes?: (string | null)[];
  editedPlan?: string;
  nextMode?: string;
} {
  return {
    ...(notes ? { notes } : {}),
    ...(editedPlan != null ? { editedPlan } : {}),
    ...(nextMode ? { nextMode } : {}),
  };
}
