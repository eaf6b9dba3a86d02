/** An agent over ACP by the client of the package: the scripted agent that is built into the hub. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { AcpClient, AcpError, type AcpQuestion, type QuestionTurn } from "askd/acp";

import { Hub } from "./support/hub.js";
import { BadLine } from "./support/proxy.js";
import { eventually } from "./support/tools.js";

let hub: Hub;

before(async () => {
  hub = await Hub.start("--end-agents");
});
after(async () => {
  await hub.stopPolitely();
  await hub.remove();
});

function agent(server: string, url = hub.url): AcpClient {
  return new AcpClient({ url, token: hub.token, server, agent: "mock" });
}

test("a_prompt_is_answered_and_its_question_by_the_handler", async () => {
  const acp = agent("one");
  const asked: AcpQuestion[] = [];
  const updates: string[] = [];
  const stop = acp.listen({
    update: ({ update }) => updates.push(update.sessionUpdate),
    question: (question, { answer }) => {
      asked.push(question);
      void answer([["option-b"]]);
    },
  });
  const { protocolVersion } = await acp.initialize();
  assert.equal(protocolVersion, 1);
  const session = await acp.newSession({ cwd: "/tmp" });
  const { stopReason } = await acp.prompt(session, "question");
  assert.equal(stopReason, "end_turn");
  assert.deepEqual(
    asked.map(({ sessionId, options }) => [sessionId, options.map(([value]) => value)]),
    [[session, ["option-a", "option-b"]]],
  );
  await eventually(() => updates.length > 0);
  const { questions } = await hub.client().questions.list({ order: "desc", limit: 1 }).page();
  assert.deepEqual(questions[0]?.outcome?.answers?.[0]?.picks, ["option-b"]);
  await assert.rejects(acp.request("no/such_method"), AcpError);
  stop();
  await acp.close();
});

test("a_question_that_is_settled_elsewhere_ends_its_signal", async () => {
  const acp = agent("two");
  const turns: QuestionTurn[] = [];
  const stop = acp.listen({ question: (_, turn) => turns.push(turn) });
  await acp.initialize();
  const session = await acp.newSession({ cwd: "/tmp" });
  const prompt = acp.prompt(session, "question");
  const turn = await eventually(() => turns[0]);
  assert.equal(turn.signal.aborted, false);
  const [open] = (await hub.client().questions.list({ status: "requested" }).page()).questions;
  await hub.client().replyQuestion(open?.id ?? "", [["Option A"]]);
  await eventually(() => turn.signal.aborted);
  assert.equal((await prompt).stopReason, "end_turn");
  // Who comes later is not asked again what is answered.
  const late: unknown[] = [];
  const messages: (string | undefined)[] = [];
  const end = acp.listen({
    question: (question) => late.push(question),
    message: ({ method }) => messages.push(method),
  });
  await eventually(() => messages.includes("_askd/question_resolved"));
  assert.deepEqual(late, []);
  end();
  stop();
  await acp.close();
});

test("a_prompt_whose_connection_breaks_gets_its_response_from_the_stream", async () => {
  const line = await BadLine.to(hub.port);
  const acp = agent("three", line.url);
  const turns: QuestionTurn[] = [];
  const stop = acp.listen({ question: (_, turn) => turns.push(turn) });
  await acp.initialize();
  const session = await acp.newSession({ cwd: "/tmp" });
  const prompt = acp.prompt(session, "question");
  const turn = await eventually(() => turns[0]);
  line.cut();
  await eventually(() =>
    turn.answer([["option-a"]]).then(
      () => true,
      () => false,
    ),
  );
  assert.equal((await prompt).stopReason, "end_turn");
  stop();
  await acp.close();
  await line.close();
});
