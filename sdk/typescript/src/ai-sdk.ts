/**
 * The AI SDK's tool approval by askd: a call with `needsApproval` becomes a permission of the inbox, and its answer the approval.
 *
 * In: the messages of `useChat`, after every change. Out: questions at the hub, and calls of `addToolApprovalResponse`, once for each
 * approval. An approval that is given in the chat itself takes its question back.
 */

import type { AskdClient } from "./client.js";
import type { AskInput } from "./types.js";

/** What of a message's part is read: a part of a tool call, `tool-NAME` or `dynamic-tool`. */
export interface ToolPart {
  type: string;
  toolName?: string;
  toolCallId?: string;
  state?: string;
  input?: unknown;
  approval?: { id: string };
}

export interface ChatMessage {
  parts: readonly unknown[];
}

export interface ApprovalBridgeOptions {
  /** `addToolApprovalResponse` of `useChat`, or of an agent of yours. */
  addToolApprovalResponse(response: { id: string; approved: boolean; reason?: string }): unknown;
  /** Who asks, as the inbox shows it. */
  agent?: string | undefined;
  context?: AskInput["context"] | undefined;
  /** What to show instead of the tool's name and input. */
  describe?: ((part: ToolPart) => Partial<AskInput>) | undefined;
  /** Told when a question cannot be asked. */
  onError?: ((error: unknown) => void) | undefined;
}

export interface ApprovalBridge {
  /** Takes the messages of the chat as they are now. */
  take(messages: readonly ChatMessage[]): void;
  /** Asks nothing more, and takes back what is open. */
  stop(): void;
}

const ALLOW = "allow";

export function bridgeApprovals(client: AskdClient, options: ApprovalBridgeOptions): ApprovalBridge {
  /** Approvals that were asked: what ends the question, until it is answered. */
  const asked = new Map<string, AbortController | null>();
  const decide = async (id: string, part: ToolPart, turn: AbortController) => {
    try {
      const result = await client.ask(questionOf(part, options), {
        // The same approval after a reload is the same question.
        idempotencyKey: `ai-sdk:${id}`,
        signal: turn.signal,
        withdrawOnAbort: true,
      });
      asked.set(id, null);
      if (result.status === "answered") {
        const [answer] = result.answers;
        const reason = [...(answer?.words ?? []), result.notes[0] ?? ""].filter(Boolean).join("\n");
        const approved = answer?.picks.includes(ALLOW) ?? false;
        await options.addToolApprovalResponse({ id, approved, ...(reason === "" ? {} : { reason }) });
      } else {
        // Nobody's word is no consent.
        const reason = (result.status === "rejected" && result.reason) || `no approval: ${result.status}`;
        await options.addToolApprovalResponse({ id, approved: false, reason });
      }
    } catch (error) {
      if (turn.signal.aborted) return;
      asked.delete(id);
      options.onError?.(error);
    }
  };
  return {
    take(messages) {
      const wanted = new Set<string>();
      for (const part of messages.flatMap(({ parts }) => parts.filter(isRequest))) {
        const { id } = part.approval;
        wanted.add(id);
        if (asked.has(id)) continue;
        const turn = new AbortController();
        asked.set(id, turn);
        void decide(id, part, turn);
      }
      for (const [id, turn] of asked) {
        if (wanted.has(id) || turn === null) continue;
        asked.set(id, null);
        turn.abort();
      }
    },
    stop() {
      for (const turn of asked.values()) turn?.abort();
    },
  };
}

function isRequest(part: unknown): part is ToolPart & { approval: { id: string } } {
  const { state, approval } = (part ?? {}) as ToolPart;
  return state === "approval-requested" && typeof approval?.id === "string";
}

function questionOf(part: ToolPart, { agent, context, describe }: ApprovalBridgeOptions): AskInput {
  const tool = part.toolName ?? part.type.replace(/^tool-/, "");
  return {
    agent: agent ?? "ai-sdk",
    kind: "permission",
    body: { format: "text", text: JSON.stringify(part.input ?? {}, null, 2) },
    questions: [
      {
        question: `May ${tool} run with this input?`,
        header: tool,
        options: [
          { label: "Allow", value: ALLOW },
          { label: "Deny", value: "deny" },
        ],
      },
    ],
    ...(part.toolCallId === undefined ? {} : { tool: { callId: part.toolCallId } }),
    ...(context ? { context } : {}),
    ...describe?.(part),
  };
}
