/** A hub that is killed in the middle and comes back on the same port and data. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { type Connection, ConnectionError, isRetryable, type OpenState } from "askd";

import { Hub } from "./support/hub.js";
import { ask, askedId, eventually, failure, WHICH } from "./support/tools.js";

let hub: Hub;

before(async () => {
  hub = await Hub.start();
});
after(() => hub.remove());

test("an_ask_outlives_a_killed_hub", async () => {
  const asking = hub.client().ask({ ...WHICH, agent: "survivor" });
  const find = async () => (await hub.client().questions.list({ agent: "survivor" }).page()).questions;
  const [question] = await eventually(async () => ((await find()).length > 0 ? find() : null));
  await hub.killHard();
  await delay(300);
  await hub.restart();
  assert.ok(question);
  await hub.client().replyQuestion(question.id, [["A"]]);
  const result = await asking;
  assert.ok(result.status === "answered" && result.question.id === question.id);
  assert.equal((await find()).length, 1);
});

test("an_ask_that_starts_while_the_hub_is_away_is_asked_once_when_it_is_back", async () => {
  await hub.killHard();
  const reached = failure(hub.client().health());
  const asking = hub.client().ask({ ...WHICH, agent: "patient" });
  assert.ok((await reached) instanceof ConnectionError);
  await delay(500);
  await hub.restart();
  const client = hub.client();
  const { id } = await eventually(async () => (await client.questions.list({ agent: "patient" }).page()).questions[0]);
  await client.rejectQuestion(id, { reason: "no" });
  assert.equal((await asking).status, "rejected");
  assert.equal((await client.questions.list({ agent: "patient" }).page()).questions.length, 1);
});

test("an_ask_outlives_a_hub_that_stops_politely", async () => {
  const asking = hub.client().ask({ ...WHICH, agent: "polite" });
  const { id } = await eventually(
    async () => (await hub.client().questions.list({ agent: "polite" }).page()).questions[0],
  );
  await hub.stopPolitely();
  await delay(200);
  await hub.restart();
  await hub.client().replyQuestion(id, [["A"]]);
  assert.equal((await asking).status, "answered");
});

test("a_question_is_taken_back_when_the_hub_is_away_at_the_abort", async () => {
  const client = hub.client();
  const controller = new AbortController();
  let id = "";
  const onAsked = (question: { id: string }) => (id = question.id);
  const options = { signal: controller.signal, withdrawOnAbort: true, onAsked };
  const asking = failure(client.ask({ ...WHICH, agent: "fickle" }, options));
  await eventually(() => id !== "");
  await hub.killHard();
  const reason = new Error("enough");
  controller.abort(reason);
  assert.equal(await asking, reason);
  await hub.restart();
  assert.equal((await client.questions.untilSettled(id, { wait: 30 })).outcome?.cause?.type, "askerWithdrew");
});

test("no_event_is_lost_or_repeated_over_killed_hubs", async () => {
  const client = hub.client();
  const start = (await client.questions.list({ limit: 1 }).page()).seq;
  const seen: number[] = [];
  const ids: string[] = [];
  const states: Connection[] = [];
  const controller = new AbortController();
  const reading = (async () => {
    for await (const event of client.events({
      after: start,
      signal: controller.signal,
      onConnection: (state) => states.push(state),
    })) {
      if ("question" in event) {
        seen.push(event.seq);
        ids.push(event.question.id);
      }
    }
  })();
  let working = true;
  const accepted: string[] = [];
  const worker = async () => {
    for (let i = 0; working; i += 1) {
      try {
        const result = await client.ask(ask(`round ${i}`, { agent: "restarts" }), { wait: 0 });
        accepted.push(result.question.id);
      } catch (error) {
        // With no time to wait, an ask ends soon after its connection; the question may have been stored under its key.
        if (!isRetryable(error)) throw error;
      }
    }
  };
  const workers = Array.from({ length: 8 }, worker);
  /** Work goes on, and the reader hears of it. */
  const goesOn = async () => {
    const enough = accepted.length + 20;
    await eventually(() => accepted.length >= enough && states.at(-1) === "live");
  };
  const lost = () => states.filter((state) => state === "lost").length;
  for (let i = 0; i < 3; i += 1) {
    await goesOn();
    const before = lost();
    await hub.killHard();
    await eventually(() => lost() > before);
    await hub.restart();
  }
  await goesOn();
  working = false;
  await Promise.all(workers);
  const last = (await client.questions.list({ limit: 1 }).page()).seq;
  await eventually(() => (seen.at(-1) ?? 0) >= last);
  controller.abort();
  await reading;
  assert.deepEqual(
    seen,
    Array.from({ length: last - start }, (_, i) => start + 1 + i),
  );
  assert.equal(new Set(ids).size, ids.length);
  assert.deepEqual(
    accepted.filter((id) => !ids.includes(id)),
    [],
  );
});

test("the_open_questions_stay_true_over_a_killed_hub", async () => {
  const client = hub.client();
  const states: OpenState[] = [];
  const filter = { agent: "watched" };
  const stop = client.watchOpen((state) => states.push(state), { filter });
  const first = await askedId(client, ask("first", { agent: "watched" }));
  await eventually(() => states.at(-1)?.questions.has(first));
  await hub.killHard();
  await eventually(() => states.at(-1)?.connection === "lost");
  assert.ok(states.at(-1)?.questions.has(first), "what was open stays shown while the hub is away");
  assert.ok(states.at(-1)?.error instanceof ConnectionError);
  await hub.restart();
  await client.replyQuestion(first, [["done"]]);
  const second = await askedId(client, ask("second", { agent: "watched" }));
  await eventually(() => states.at(-1)?.questions.has(second) && !states.at(-1)?.questions.has(first));
  assert.equal(states.at(-1)?.connection, "live");
  assert.equal(states.at(-1)?.error, null);
  stop();
});
