/** Asking as one promise, with every way in which it can end. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, before, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";

import { type AskdClient, AskdError, InvalidRequestError, type Question } from "askd";

import { Hub } from "./support/hub.js";
import { reservePort } from "./support/port.js";
import { BadLine } from "./support/proxy.js";
import { ask, eventually, failure, WHICH } from "./support/tools.js";

let hub: Hub;
let client: AskdClient;

before(async () => {
  hub = await Hub.start();
  client = hub.client();
});
after(() => hub.remove());

/** The one open question of an agent. */
function open(agent: string): Promise<Question> {
  return eventually(async () => (await client.questions.list({ status: "requested", agent }).page()).questions[0]);
}

test("an_answer_resolves_the_ask", async () => {
  const asked: Question[] = [];
  const promise = client.ask({ ...WHICH, agent: "a1" }, { onAsked: (question) => asked.push(question) });
  const { id } = await open("a1");
  await client.replyQuestion(id, [["Bee"]]);
  const result = await promise;
  assert.equal(result.status, "answered");
  assert.ok(result.status === "answered");
  assert.deepEqual(result.answers, [{ picks: ["b"], labels: ["Bee"], words: [] }]);
  assert.deepEqual(result.notes, [null]);
  assert.deepEqual([result.editedPlan, result.nextMode], [null, null]);
  assert.equal(result.outcome.by.actor, "owner");
  assert.deepEqual(
    asked.map((question) => [question.id, question.status]),
    [[id, "requested"]],
  );
});

test("a_rejection_a_withdrawal_and_a_deadline_resolve_it_too", async () => {
  const rejected = client.ask({ ...WHICH, agent: "a2" });
  await client.rejectQuestion((await open("a2")).id, { reason: "no" });
  const rejection = await rejected;
  assert.ok(rejection.status === "rejected" && rejection.mode === "decline" && rejection.reason === "no");

  const withdrawn = client.ask({ ...WHICH, agent: "a3" });
  await client.withdraw((await open("a3")).id);
  const withdrawal = await withdrawn;
  assert.ok(withdrawal.status === "cancelled" && withdrawal.cause?.type === "askerWithdrew");

  const expired = await client.ask({ ...WHICH, deadline: new Date(Date.now() + 300).toISOString() });
  assert.equal(expired.status, "expired");
});

test("a_secret_answer_reaches_its_asker_and_nobody_else", async () => {
  const asker = await hub.clientWith("asker", ["ask"]);
  const promise = asker.ask({ questions: [{ question: "Password?", secret: true }], agent: "a4" });
  const { id } = await open("a4");
  await client.replyQuestion(id, [["hunter2"]]);
  const result = await promise;
  assert.ok(result.status === "answered");
  assert.deepEqual(result.answers, [{ picks: [], labels: [], words: ["hunter2"] }]);
  const seen = await client.questions.get(id);
  assert.deepEqual([seen.outcome?.answers, seen.outcome?.withheld], [[{ picks: [], labels: [], words: [] }], [0]]);
});

test("a_wait_that_is_over_leaves_the_question_open", async () => {
  const result = await client.ask({ ...WHICH, agent: "a5" }, { wait: 0.2 });
  assert.equal(result.status, "requested");
  assert.equal((await client.questions.get(result.question.id)).status, "requested");
});

test("an_abort_ends_the_waiting_and_withdraws_only_if_told", async () => {
  for (const withdrawOnAbort of [false, true]) {
    const agent = `abort-${withdrawOnAbort}`;
    const controller = new AbortController();
    const promise = failure(client.ask({ ...WHICH, agent }, { signal: controller.signal, withdrawOnAbort }));
    const { id } = await open(agent);
    const reason = new Error("enough");
    controller.abort(reason);
    assert.equal(await promise, reason);
    // The withdrawal comes a moment after the rejection.
    const { status } = await client.questions.get(id, { wait: withdrawOnAbort ? 30 : 0 });
    assert.equal(status, withdrawOnAbort ? "cancelled" : "requested");
  }
  const before = (await client.questions.list({ limit: 1 }).page()).seq;
  const aborted = AbortSignal.abort();
  assert.equal(await failure(client.ask(WHICH, { signal: aborted })), aborted.reason);
  assert.equal((await client.questions.list({ limit: 1 }).page()).seq, before);
});

test("a_program_that_is_done_does_not_stay_to_take_its_question_back", async () => {
  const nobody = await reservePort();
  const program = `
    import { AskdClient } from "askd";
    const signal = AbortSignal.timeout(300);
    const client = new AskdClient({ url: "http://127.0.0.1:${nobody.port}", token: "t" });
    setTimeout(() => undefined, 600);
    await client.ask({ questions: [{ question: "?" }] }, { signal, withdrawOnAbort: true }).catch((error) => console.log(error.name));
  `;
  const args = ["--input-type=module", "-e", program];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 30_000 });
  nobody.release();
  assert.equal(stdout.trim(), "TimeoutError");
});

test("the_same_key_takes_up_the_same_question", async () => {
  const input = { ...WHICH, agent: "a6" };
  const first = client.ask(input, { idempotencyKey: "key 1" });
  const { id } = await open("a6");
  const second = client.ask(input, { idempotencyKey: "key 1" });
  await client.replyQuestion(id, [["A"]]);
  const results = await Promise.all([first, second]);
  assert.deepEqual(
    results.map((result) => result.question.id),
    [id, id],
  );
  const reused = await failure(client.ask(ask("another"), { idempotencyKey: "key 1" }));
  assert.ok(reused instanceof AskdError && reused.code === "idempotency_key_reused");
});

test("a_question_that_cannot_be_answered_is_refused_at_once", async () => {
  const error = await failure(client.ask({ questions: [{ question: " " }, { question: "x", custom: false }] }));
  assert.ok(error instanceof InvalidRequestError);
  assert.deepEqual(
    error.errors.map((one) => one.field),
    ["questions[0].question", "questions[1].custom"],
  );
});

test("broken_connections_delay_the_outcome_and_nothing_else", async () => {
  const line = await BadLine.to(hub.port);
  try {
    const promise = hub.client({ url: line.url }).ask({ ...WHICH, agent: "a7" });
    const { id } = await open("a7");
    for (let i = 0; i < 5; i += 1) {
      await delay(60);
      line.cut();
    }
    await client.replyQuestion(id, [["A"]]);
    assert.equal((await promise).status, "answered");
    assert.equal((await client.questions.list({ agent: "a7" }).page()).questions.length, 1);
  } finally {
    await line.close();
  }
});

test("one_get_waits_as_long_as_it_is_told", async () => {
  const { question } = await client.ask(WHICH, { wait: 0 });
  const started = Date.now();
  assert.equal((await client.questions.get(question.id, { wait: 1 })).status, "requested");
  assert.ok(Date.now() - started >= 900);
  const waiting = client.questions.get(question.id, { wait: 30 });
  await client.replyQuestion(question.id, [["A"]]);
  assert.equal((await waiting).status, "answered");
});

test("an_answer_after_the_hub_has_sent_its_header_is_read", async () => {
  const { question } = await client.ask(WHICH, { wait: 0 });
  const waiting = client.questions.get(question.id, { wait: 30 });
  await delay(10_500);
  await client.replyQuestion(question.id, [["A"]]);
  assert.equal((await waiting).status, "answered");
});
