/** Tool approval of the AI SDK by the inbox. The messages are those that `useChat` of the AI SDK has. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import type { Question } from "askd";
import { bridgeApprovals } from "askd/ai-sdk";

import { Hub } from "./support/hub.js";
import { eventually } from "./support/tools.js";

let hub: Hub;

before(async () => {
  hub = await Hub.start();
});
after(() => hub.remove());

function message(id: string, state = "approval-requested") {
  const part = {
    type: "tool-deleteFile",
    toolCallId: `call_${id}`,
    state,
    input: { path: "/etc/hosts" },
    approval: { id },
  };
  return { id: "msg", role: "assistant", parts: [{ type: "text", text: "I would like to" }, part] };
}

async function open(callId: string): Promise<Question> {
  return eventually(
    async () => (await hub.client().questions.list({ callId, status: "requested" }).page()).questions[0],
  );
}

test("an_approval_is_a_permission_of_the_inbox_with_its_input_and_its_answer_is_given_once", async () => {
  const given: unknown[] = [];
  const bridge = bridgeApprovals(hub.client(), { addToolApprovalResponse: (response) => given.push(response) });
  bridge.take([message("a1")]);
  bridge.take([message("a1"), message("a2")]);
  const [first, second] = [await open("call_a1"), await open("call_a2")];
  assert.deepEqual([first.kind, first.body?.text], ["permission", '{\n  "path": "/etc/hosts"\n}']);
  await hub.client().replyQuestion(first.id, [{ picks: ["allow"], words: [] }]);
  await eventually(() => given.length === 1);
  await hub.client().rejectQuestion(second.id, { reason: "never that file" });
  await eventually(() => given.length === 2);
  assert.deepEqual(given, [
    { id: "a1", approved: true },
    { id: "a2", approved: false, reason: "never that file" },
  ]);
  bridge.take([message("a1"), message("a2")]);
  assert.deepEqual((await hub.client().questions.list({ status: "requested" }).page()).questions, []);
  bridge.stop();
});

test("an_approval_that_is_given_in_the_chat_takes_its_question_back", async () => {
  const given: unknown[] = [];
  const bridge = bridgeApprovals(hub.client(), { addToolApprovalResponse: (response) => given.push(response) });
  bridge.take([message("b1")]);
  const { id } = await open("call_b1");
  bridge.take([message("b1", "approval-responded")]);
  await eventually(async () => (await hub.client().questions.get(id)).status === "cancelled");
  assert.deepEqual(given, []);
  bridge.stop();
});

test("the_same_approval_after_a_reload_is_the_same_question", async () => {
  const given: unknown[] = [];
  const before = bridgeApprovals(hub.client(), { addToolApprovalResponse: () => undefined });
  before.take([message("c1")]);
  const { id } = await open("call_c1");
  const again = bridgeApprovals(hub.client(), { addToolApprovalResponse: (response) => given.push(response) });
  again.take([message("c1")]);
  await hub.client().replyQuestion(id, [{ picks: ["deny"], words: [] }]);
  await eventually(() => given.length === 1);
  assert.deepEqual(given, [{ id: "c1", approved: false }]);
});
