// As many widgets as a chat has: one stream per hub and token for all tabs of an origin, and no answer waits behind a stream.

import assert from "node:assert/strict";
import { before, test } from "node:test";

import { addWidgets, foreignPages, serve } from "./foreign.mjs";
import { texts } from "./hub.mjs";
import { AUTH } from "./samples.mjs";
import { becomes, hub, stage, stranger, until } from "./stage.mjs";

/** More than browsers have connections to one host over plain HTTP. */
const MANY = 25;
/** A name of this machine that a browser does not know as one: over plain HTTP such a page gets no locks. */
const OUTER = "chat.test";

let origins = [];

foreignPages();
before(async () => {
  origins = await Promise.all([...Array.from({ length: 4 }, () => serve()), serve(OUTER)]);
});
stage({ hubArgs: () => origins.flatMap((origin) => ["--allow-origin", origin]) });

const askMany = (count) =>
  Promise.all(
    Array.from({ length: count }, (_, i) =>
      hub.ask({
        ...AUTH,
        tool: { callId: `call-${i}` },
        questions: [{ ...AUTH.questions[0], question: `Which, ${i}?` }],
      }),
    ),
  );

/** A browser of one person, whose tabs may be closed. */
async function tabs() {
  const context = (await stranger()).context();
  return { newPage: () => context.newPage() };
}

/** A page of widgets: half by the question's id, half by the call's. */
async function chat(page, origin, asked) {
  await page.goto(origin);
  const which = (id, i) => (i % 2 ? { "question-id": id } : { "call-id": `call-${i}` });
  const attributes = asked.map(({ id }, i) => ({ hub: hub.url, token: hub.token, ...which(id, i) }));
  await addWidgets(page, attributes);
}

const inState = (page, state) => page.locator(`askd-question[state="${state}"]`).count();

/** Answers the widget with a number, and waits until that is accepted. */
async function answer(page, index) {
  const one = page.locator("askd-question").nth(index);
  await one.scrollIntoViewIfNeeded();
  await one.getByRole("radio", { name: /JWT/ }).check();
  await one.getByRole("button", { name: "Submit" }).click();
  await until(async () => (await one.getAttribute("state")) === "settled", "the answer is accepted");
}

/** The streams of the hub that a page has open, and every one that it ever asked for. */
function streamsOf(page) {
  const open = new Set();
  page.on("request", (request) => request.url().includes("/v1/events") && open.add(request));
  for (const end of ["requestfinished", "requestfailed"]) page.on(end, (request) => open.delete(request));
  return open;
}

test("fifty widgets in two tabs draw and are answered over one stream, also when the tab that has it is closed", async () => {
  const asked = await askMany(MANY);
  const { newPage } = await tabs();
  const [first, second] = [await newPage(), await newPage()];
  const streams = [streamsOf(first), streamsOf(second)];
  await chat(first, origins[0], asked);
  await chat(second, origins[0], asked);
  for (const page of [first, second]) await becomes(() => inState(page, "asking"), MANY);
  await answer(first, 3);
  await answer(second, 8);
  await becomes(() => inState(first, "settled"), 2);
  await becomes(() => inState(second, "settled"), 2);
  await becomes(async () => streams.map(({ size }) => size).sort(), [0, 1]);
  // Whichever leads goes; the other goes on from where it was.
  const [leader, other] = streams[0].size === 1 ? [first, second] : [second, first];
  await leader.close();
  await hub.reply(asked[11].id, [["Sessions"]]);
  await becomes(() => inState(other, "settled"), 3);
  await answer(other, 12);
  assert.deepEqual(texts((await hub.question(asked[12].id)).outcome.answers), [["JWT"]]);
});

test("a tab that leads and stands still is replaced, and follows when it moves again", async () => {
  const asked = await askMany(2);
  const first = await stranger();
  await chat(first, origins[0], asked);
  await becomes(() => inState(first, "asking"), 2);
  const second = await first.context().newPage();
  await chat(second, origins[0], asked);
  await becomes(() => inState(second, "asking"), 2);
  const debug = await first.context().newCDPSession(first);
  await debug.send("Debugger.enable");
  await debug.send("Debugger.pause");
  // A page that does nothing only stops at its next step.
  void first.evaluate(() => document.title).catch(() => undefined);
  await hub.reply(asked[0].id, [["JWT"]]);
  await becomes(() => inState(second, "settled"), 1);
  await debug.send("Debugger.resume");
  await hub.reply(asked[1].id, [["JWT"]]);
  for (const page of [first, second]) await becomes(() => inState(page, "settled"), 2);
});

test("messages between tabs have no token in them, nor in the name of the channel", async () => {
  const asked = await askMany(2);
  const page = await stranger();
  await page.addInitScript(() => {
    globalThis.said = [];
    const { postMessage } = BroadcastChannel.prototype;
    BroadcastChannel.prototype.postMessage = function (message) {
      globalThis.said.push(`${this.name} ${JSON.stringify(message)}`);
      return postMessage.call(this, message);
    };
  });
  await chat(page, origins[0], asked);
  await becomes(() => inState(page, "asking"), 2);
  await hub.reply(asked[0].id, [["JWT"]]);
  await becomes(() => inState(page, "settled"), 1);
  const said = await page.evaluate(() => globalThis.said);
  assert.ok(
    said.some((one) => one.includes('"events"')),
    "it was heard at all",
  );
  assert.ok(said.every((one) => !one.includes(hub.token)));
});

test("four foreign origins, and one over plain HTTP, stand beside each other, and each is answered", async () => {
  const asked = await askMany(MANY);
  const first = await stranger();
  const pages = [first];
  while (pages.length < origins.length) pages.push(await first.context().newPage());
  for (const [i, page] of pages.entries()) {
    await chat(page, origins[i], asked);
    await becomes(() => inState(page, "asking"), MANY);
  }
  assert.deepEqual(await Promise.all(pages.map((page) => page.evaluate(() => "locks" in navigator))), [
    true,
    true,
    true,
    true,
    false,
  ]);
  for (const [i, page] of pages.entries()) {
    await page.bringToFront();
    await answer(page, i);
  }
  for (const page of pages) {
    await page.bringToFront();
    await becomes(() => inState(page, "settled"), pages.length);
  }
});

test("an answer does not wait behind streams: more windows than there are connections, without locks", async () => {
  const asked = await askMany(2);
  const first = await stranger();
  // As on plain HTTP from another machine.
  await first.context().addInitScript(() => Object.defineProperty(Navigator.prototype, "locks", { value: undefined }));
  const pages = [first];
  // Playwright's pages all count as seen: each has its own stream.
  while (pages.length < 6) pages.push(await first.context().newPage());
  for (const page of pages) {
    await chat(page, origins[0], asked);
    await becomes(() => inState(page, "asking"), 2);
  }
  await answer(pages[5], 0);
  for (const page of pages) await becomes(() => inState(page, "settled"), 1);
});
