/**
 * One question's form while it is being answered: the draft, what was sent, what the hub said. Nothing here claims success:
 * the question itself, as the hub returned it, does that.
 */

import { AlreadySettledError, type AskdClient, type FieldError, InvalidRequestError, isUnreachable, PATIENCE_MS, type Question, type RejectMode, type Reply, words } from "../api.ts";
import { type Draft, isField, requiredMissing, toReply, typedText, unanswered } from "../answer/draft.ts";
import { isOurs, type Sent } from "../answer/rescue.ts";
import { dropDraft, loadDraft, saveDraft } from "./drafts.ts";

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
  /** The item that keys act on; one past the last is the review. */
  active = $state(0);
  rejecting = $state(false);
  sent = $state.raw<Sent | null>(null);
  rescueDismissed = $state(false);
  /** Another answer was taken before the one that was sent from here. */
  lost = $state(false);
  /** Whether a person can see it. */
  onScreen = false;
  #key: { text: string; key: string } | null = null;

  constructor(
    readonly question: Question,
    private readonly took: (question: Question) => void,
  ) {
    this.draft = loadDraft(question);
  }

  save(): void {
    saveDraft(this.question, this.draft);
  }

  typed(): string {
    return typedText(this.question, this.draft);
  }

  errorsOf(index: number): FieldError[] {
    return this.errors.filter(({ item }) => item === index);
  }

  /** Something was changed: what was pointed at may no longer be true. */
  touched(): void {
    if (this.errors.length > 0) this.errors = [];
    if (this.pointedAt.length > 0) this.pointedAt = [];
    if (this.phase === "failed") {
      this.phase = "editing";
      this.failure = "";
    }
  }

  /** Sends the answer, or points at what is missing and returns the item to look at. */
  async submit(hub: AskdClient): Promise<number | null> {
    if (this.phase === "sending") return null;
    const missing = requiredMissing(this.question, this.draft);
    if (missing.length > 0) {
      this.errors = missing;
      return missing[0]?.item ?? null;
    }
    const empty = unanswered(this.question, this.draft);
    if (empty.some((index) => !this.pointedAt.includes(index))) {
      this.pointedAt = empty;
      return empty[0] ?? null;
    }
    await this.#send(hub, { reply: toReply(this.question, this.draft) });
    return null;
  }

  async approve(hub: AskdClient, edited: boolean): Promise<void> {
    const reply: Reply = { ...toReply(this.question, this.draft), answers: this.question.questions.map(() => ["approve"]) };
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
    const key = this.#keyFor(JSON.stringify(sent));
    try {
      const options = { idempotencyKey: key, signal: AbortSignal.timeout(PATIENCE_MS) };
      const settled = "reply" in sent
        ? await hub.questions.reply(this.question.id, sent.reply.answers, { ...replyOptions(sent.reply), ...options })
        : await hub.questions.reject(this.question.id, { ...sent.rejection, ...options });
      this.phase = "editing";
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

  /** Whether the question ended as this browser wanted. */
  endedAsWanted(question: Question): boolean {
    return isOurs(question, this.sent);
  }

  /** Whether typed words would be lost with the form, because the question ended otherwise. */
  needsRescue(question: Question): boolean {
    return !this.rescueDismissed && !this.endedAsWanted(question) && this.typed() !== "";
  }

  /** The question has ended: a draft whose words are sent, or that has none, has done its work. */
  settle(question: Question): void {
    if (this.endedAsWanted(question) || this.typed() === "") dropDraft(question.id);
  }

  dismissRescue(): void {
    this.rescueDismissed = true;
    dropDraft(this.question.id);
  }

  get hasOnlyFields(): boolean {
    return this.question.questions.every(isField);
  }
}

/** Not crypto.randomUUID, which browsers refuse on plain HTTP from another machine. */
function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function replyOptions({ notes, editedPlan, nextMode }: Reply): { notes?: (string | null)[]; editedPlan?: string; nextMode?: string } {
  return { ...(notes ? { notes } : {}), ...(editedPlan != null ? { editedPlan } : {}), ...(nextMode ? { nextMode } : {}) };
}
