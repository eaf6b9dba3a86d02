/** What a review attacked in large numbers and found whole, in small numbers. */

import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { after, before, test } from "node:test";

import type { Question } from "askd";

import { Hub } from "./support/hub.js";
import { ask, askedId, eventually, WHICH } from "./support/tools.js";

let hub: Hub;

before(async () => {
  hub = await Hub.start();
});
after(() => hub.remove());

test("hundreds_of_asks_leave_no_listeners_on_their_signal", async () => {
  const client = hub.client();
  const { signal } = new AbortController();
  const asks = Array.from({ length: 200 }, () => client.ask(WHICH, { signal, wait: 0.2 }));
  const states = new Set((await Promise.all(asks)).map(({ status }) => status));
  assert.deepEqual([...states], ["requested"]);
  // Node keeps one for all requests of a signal.
  assert.ok(getEventListeners(signal, "abort").length <= 1);
});

test("each_question_is_handed_over_once_over_killed_hubs", async () => {
  const calls = new Map<string, number>();
  const handler = (question: Question) => {
    calls.set(question.id, (calls.get(question.id) ?? 0) + 1);
    return [["mine"]];
  };
  const stop = hub.client().onQuestion(handler, { filter: { agent: "held" } });
  const ids: string[] = [];
  for (let round = 0; round < 3; round += 1) {
    const texts = Array.from({ length: 20 }, (_, i) => `${round}.${i}`);
    ids.push(...(await Promise.all(texts.map((text) => askedId(hub.client(), ask(text, { agent: "held" }))))));
    await hub.killHard();
    await hub.restart();
  }
  const answered = () => hub.client().questions.list({ agent: "held", status: "answered", limit: 500 }).page();
  await eventually(async () => (await answered()).questions.length === ids.length);
  stop();
  assert.deepEqual(
    ids.map((id) => calls.get(id)),
    ids.map(() => 1),
  );
});
