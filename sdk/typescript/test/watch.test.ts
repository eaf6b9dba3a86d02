/** The open questions as a state, and the function that is called with each of them. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import {
  AlreadySettledError,
  type AskdClient,
  InvalidAnswerError,
  type OpenState,
  type Question,
  UnauthorizedError,
} from "askd";

import { Hub } from "./support/hub.js";
import { BadLine } from "./support/proxy.js";
import { ask, askedId, eventually, WHICH } from "./support/tools.js";

let hub: Hub;
let client: AskdClient;

before(async () => {
  hub = await Hub.start();
  client = hub.client();
});
after(async () => {
  stops.forEach((stop) => stop());
  await hub.remove();
});

/** Whatever still follows the hub when the tests are over; also after a failure. */
const stops: (() => void)[] = [];
function kept(stop: () => void): () => void {
  stops.push(stop);
  return stop;
}

async function askMany(agent: string, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < count; i += 1) ids.push(await askedId(client, ask(`${agent} ${i}`, { agent })));
  return ids;
}

test("the_state_holds_what_is_open_oldest_first_and_names_the_events", async () => {
  const [first = "", second = ""] = await askMany("w1", 2);
  const states: OpenState[] = [];
  const told: string[] = [];
  const listener = (state: OpenState, events: { type: string }[]) => {
    states.push(state);
    told.push(...events.map((event) => event.type));
  };
  const stop = kept(client.watchOpen(listener, { filter: { agent: "w1" } }));
  await eventually(() => states.at(-1)?.connection === "live");
  assert.deepEqual([...(states.at(-1)?.questions.keys() ?? [])], [first, second]);
  const before = states.at(-1);
  const third = await askedId(client, ask("third", { agent: "w1" }));
  await askedId(client, ask("not mine", { agent: "w0" }));
  await client.replyQuestion(first, [["x"]]);
  await eventually(() => states.at(-1)?.questions.size === 2 && !states.at(-1)?.questions.has(first));
  assert.deepEqual([...(states.at(-1)?.questions.keys() ?? [])], [second, third]);
  assert.deepEqual(told, ["question.requested", "question.resolved"]);
  assert.deepEqual([...(before?.questions.keys() ?? [])], [first, second], "an old state never changes");
  stop();
  const count = states.length;
  await askedId(client, ask("after the end", { agent: "w1" }));
  await delay(100);
  assert.equal(states.length, count);
});

test("a_list_of_many_pages_joins_the_stream_without_a_gap", async () => {
  await askMany("w2", 450);
  let state: OpenState | undefined;
  const changing = (async () => {
    for (let i = 0; i < 40; i += 1) {
      await askedId(client, ask(`new ${i}`, { agent: "w2" }));
      const oldest = (await client.questions.list({ agent: "w2", status: "requested", order: "asc", limit: 1 }).page())
        .questions[0];
      await client.replyQuestion(oldest?.id ?? "", [["x"]]);
    }
  })();
  for (let i = 0; i < 5; i += 1) kept(client.watchOpen((next) => (state = next), { filter: { agent: "w2" } }));
  await changing;
  const wanted: string[] = [];
  for await (const question of client.questions.list({ agent: "w2", status: "requested", order: "asc" }))
    wanted.push(question.id);
  await eventually(() => [...(state?.questions.keys() ?? [])].join() === wanted.join());
  assert.equal(wanted.length, 450);
});

test("a_refused_token_stops_the_watch_and_says_why", async () => {
  const states: OpenState[] = [];
  hub.client({ token: "askd_wrong" }).watchOpen((state) => states.push(state));
  const last = await eventually(() => states.at(-1));
  assert.equal(last.connection, "stopped");
  assert.ok(last.error instanceof UnauthorizedError);
});

test("each_open_question_is_handed_over_once_and_what_is_returned_is_the_answer", async () => {
  const line = await BadLine.to(hub.port);
  const early = await askMany("q1", 30);
  const calls: string[] = [];
  const handler = async (question: Question) => {
    calls.push(question.id);
    await delay(5);
    return calls.length % 2 === 0 ? [["by array"]] : { answers: [["by reply"]], notes: ["n"] };
  };
  const stop = kept(hub.client({ url: line.url, surface: "cli" }).onQuestion(handler, { filter: { agent: "q1" } }));
  const late: string[] = [];
  for (let i = 0; i < 30; i += 1) {
    late.push(await askedId(client, ask(`late ${i}`, { agent: "q1" })));
    if (i % 5 === 0) line.cut();
  }
  await eventually(
    async () =>
      (await client.questions.list({ agent: "q1", status: "answered", limit: 500 }).page()).questions.length === 60,
  );
  assert.deepEqual([...calls].sort(), [...early, ...late].sort());
  stop();
  await line.close();
});

test("a_handler_may_keep_silent_and_answer_later", async () => {
  const seen: Question[] = [];
  kept(client.onQuestion((question) => void seen.push(question), { filter: { agent: "q2" } }));
  const id = await askedId(client, { ...WHICH, agent: "q2" });
  await eventually(() => seen.length === 1);
  await delay(50);
  assert.equal((await client.questions.get(id)).status, "requested");
  await client.replyQuestion(id, [["A"]]);
});

test("errors_of_handlers_and_refused_answers_are_told", async () => {
  const errors: [unknown, string | undefined][] = [];
  const onError = (error: unknown, question: Question | null) => errors.push([error, question?.id]);
  const handler = (question: Question) => {
    if (question.kind === "permission") throw new Error("handler broke");
    return [["not an option"]];
  };
  kept(client.onQuestion(handler, { onError, filter: { agent: "q3" } }));
  const throwing = await askedId(client, { ...WHICH, agent: "q3", kind: "permission" });
  const refused = await askedId(client, { ...WHICH, agent: "q3" });
  const errorOf = (id: string) => eventually(() => errors.find(([, about]) => about === id)?.[0]);
  assert.match(String(await errorOf(throwing)), /handler broke/);
  assert.ok((await errorOf(refused)) instanceof InvalidAnswerError);
  assert.equal((await client.questions.get(refused)).status, "requested");
});

test("of_two_handlers_one_answers_and_the_other_is_told_so", async () => {
  const errors: unknown[] = [];
  const options = { filter: { agent: "q4" }, onError: (error: unknown) => errors.push(error) };
  const calls = new Map<string, number>();
  for (const answer of ["A", "b"]) {
    // Neither answers before both were called.
    const handler = async ({ id }: Question) => {
      calls.set(id, (calls.get(id) ?? 0) + 1);
      await eventually(() => calls.get(id) === 2);
      return [[answer]];
    };
    kept(client.onQuestion(handler, options));
  }
  const asks = Array.from({ length: 20 }, () => client.ask({ ...WHICH, agent: "q4" }));
  for (const result of await Promise.all(asks)) assert.equal(result.status, "answered");
  await eventually(() => errors.length === asks.length);
  assert.ok(errors.every((error) => error instanceof AlreadySettledError));
});

test("after_unsubscribing_no_call_comes", async () => {
  let calls = 0;
  const controller = new AbortController();
  const stop = client.onQuestion(() => void (calls += 1), { filter: { agent: "q5" } });
  client.onQuestion(() => void (calls += 1), { filter: { agent: "q5" }, signal: controller.signal });
  await askedId(client, ask("x", { agent: "q5" }));
  await eventually(() => calls === 2);
  stop();
  controller.abort();
  await askedId(client, ask("y", { agent: "q5" }));
  await delay(150);
  assert.equal(calls, 2);
});

test("what_a_handler_returns_after_the_end_is_still_sent", async () => {
  const id = await askedId(client, { ...WHICH, agent: "q6" });
  const handler = async () => {
    await delay(20);
    stop();
    return [["A"]];
  };
  const stop = kept(client.onQuestion(handler, { filter: { agent: "q6" } }));
  assert.equal((await client.questions.untilSettled(id, { wait: 30 })).status, "answered");
});

test("a_handler_is_told_when_its_question_is_settled_elsewhere_and_can_answer_or_reject_later", async () => {
  const seen = new Map<
    string,
    { signal: AbortSignal; answer: (answers: string[][]) => Promise<Question>; reject: () => Promise<Question> }
  >();
  const stop = kept(client.onQuestion(({ id }, turn) => void seen.set(id, turn), { filter: { agent: "q7" } }));
  const [first = "", second = "", third = "", fourth = ""] = await askMany("q7", 4);
  await eventually(() => seen.size === 4);
  await client.replyQuestion(first, [["elsewhere"]]);
  await eventually(() => seen.get(first)?.signal.aborted);
  assert.equal(seen.get(second)?.signal.aborted, false);
  assert.equal((await seen.get(second)?.answer([["late"]]))?.status, "answered");
  assert.equal((await seen.get(third)?.reject())?.status, "rejected");
  await eventually(() => seen.get(third)?.signal.aborted);
  stop();
  assert.equal(seen.get(fourth)?.signal.aborted, true);
});
