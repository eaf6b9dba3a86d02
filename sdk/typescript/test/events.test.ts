/** The event stream: order, cursors, filters, cuts in the middle, aborts. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { type AskdClient, type AskdEvent, type Connection, CursorLostError, ForbiddenError } from "askd";

import { Hub } from "./support/hub.js";
import { BadLine } from "./support/proxy.js";
import { ask, askedId, eventually, failure, seeded } from "./support/tools.js";

let hub: Hub;
let client: AskdClient;

before(async () => {
  hub = await Hub.start();
  client = hub.client();
});
after(() => hub.remove());

async function newest(): Promise<number> {
  return (await client.questions.list({ limit: 1 }).page()).seq;
}

/** Asks and answers so many questions, a few at a time: two events each. */
async function makeEvents(questions: number): Promise<void> {
  let left = questions;
  const worker = async () => {
    while (left-- > 0) await client.replyQuestion(await askedId(client, ask("x", { agent: "maker" })), [["y"]]);
  };
  await Promise.all(Array.from({ length: 16 }, worker));
}

async function readUntil(from: AskdClient, start: number, last: number): Promise<number[]> {
  const seen: number[] = [];
  for await (const event of from.events({ after: start })) {
    if (!("seq" in event)) throw new Error(`unexpected ${event.type}`);
    seen.push(event.seq);
    if (event.seq >= last) break;
  }
  return seen;
}

function numbers(start: number, last: number): number[] {
  return Array.from({ length: last - start }, (_, i) => start + 1 + i);
}

test("events_are_typed_and_carry_the_question", async () => {
  const start = await newest();
  const id = await askedId(client);
  await client.replyQuestion(id, [["A"]]);
  const seen: AskdEvent[] = [];
  for await (const event of client.events({ after: start })) if (seen.push(event) === 2) break;
  assert.deepEqual(
    seen.map((event) => event.type),
    ["question.requested", "question.resolved"],
  );
  const [requested, resolved] = seen;
  assert.ok(
    requested?.type === "question.requested" &&
      requested.question.status === "requested" &&
      requested.question.seq === start + 1,
  );
  assert.ok(resolved?.type === "question.resolved" && resolved.question.outcome?.answers?.[0]?.picks[0] === "A");
});

test("without_a_cursor_the_stream_starts_now", async () => {
  await askedId(client);
  const states: Connection[] = [];
  const first = client.events({ onConnection: (state) => states.push(state) }).next();
  await eventually(() => states.includes("live"));
  const id = await askedId(client);
  const event = (await first).value;
  assert.ok(event && "question" in event && event.question.id === id);
});

test("filters_let_through_what_they_name", async () => {
  const start = await newest();
  await askedId(client, ask("no", { agent: "other" }));
  const id = await askedId(client, ask("yes", { agent: "wanted", tool: { callId: "call-7" } }));
  await client.replyQuestion(id, [["y"]]);
  for (const filter of [{ agent: "wanted" }, { callId: "call-7" }, { agent: "wanted", status: "requested" as const }]) {
    for await (const event of client.events({ after: start, filter })) {
      assert.ok("question" in event && event.question.id === id);
      break;
    }
  }
});

test("thousands_of_events_over_a_line_that_breaks_come_once_each_in_order", async () => {
  const line = await BadLine.to(hub.port);
  const start = await newest();
  const random = seeded(11);
  let making = true;
  let cuts = 0;
  const chaos = (async () => {
    while (making) {
      await delay(20 + random() * 80);
      cuts += line.cut();
    }
  })();
  try {
    const count = 1500;
    const readers = Array.from({ length: 3 }, () => readUntil(hub.client({ url: line.url }), start, start + 2 * count));
    const steady = readUntil(client, start, start + 2 * count);
    await makeEvents(count);
    await delay(500);
    making = false;
    await chaos;
    const wanted = numbers(start, start + 2 * count);
    for (const seen of await Promise.all([...readers, steady])) assert.deepEqual(seen, wanted);
    assert.ok(cuts >= 3, `only ${cuts} connections were cut`);
  } finally {
    making = false;
    await line.close();
  }
});

test("a_reader_that_pauses_misses_nothing", async () => {
  const start = await newest();
  const seen: number[] = [];
  const last = start + 600;
  const reading = (async () => {
    for await (const event of client.events({ after: start })) {
      if (seen.length === 0) await delay(1_500);
      seen.push("seq" in event ? event.seq : -1);
      if (seen.length === 600) break;
    }
  })();
  await makeEvents(300);
  await reading;
  assert.deepEqual(seen, numbers(start, last));
});

test("an_abort_ends_the_iteration_quietly", async () => {
  const controller = new AbortController();
  const states: Connection[] = [];
  const reading = (async () => {
    for await (const event of client.events({ signal: controller.signal, onConnection: (state) => states.push(state) }))
      assert.fail(event.type);
  })();
  await eventually(() => states.includes("live"));
  controller.abort();
  await reading;
  assert.deepEqual(states, ["connecting", "live"]);
  for await (const event of client.events({ after: 0, signal: AbortSignal.abort() })) assert.fail(event.type);
});

test("an_abort_also_ends_the_wait_for_a_hub_that_is_away", async () => {
  const away = hub.client({ url: "http://127.0.0.1:1" });
  const controller = new AbortController();
  const states: Connection[] = [];
  const onConnection = (state: Connection) => {
    states.push(state);
    // In the wait after the third failure.
    if (states.filter((one) => one === "lost").length === 3) setImmediate(() => controller.abort());
  };
  for await (const event of away.events({ after: 0, signal: controller.signal, onConnection })) assert.fail(event.type);
  assert.equal(states.at(-1), "lost");
});

test("what_waiting_cannot_mend_is_thrown", async () => {
  const next = (from: AskdClient, afterSeq: number) => from.events({ after: afterSeq }).next();
  const lost = await failure(next(client, 1_000_000));
  assert.ok(lost instanceof CursorLostError);
  assert.ok((await failure(next(await hub.clientWith("asker", ["ask"]), 0))) instanceof ForbiddenError);
});
