// What every file of tests stands on: one browser per file, one hub per test, and people who come and go. Whatever a page complained
// about fails the test that it was open in.

import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach } from "node:test";
import { isDeepStrictEqual } from "node:util";

import { launch, logIn, PATIENCE_MS, visitor } from "./browser.mjs";
import { TestHub } from "./hub.mjs";

/** The hub of the test that runs. */
export let hub;
let browser;
const people = [];

/** Called once by each file. `hubArgs` is asked anew for each test. */
export function stage({ hubArgs = () => [] } = {}) {
  before(async () => (browser = await launch()));
  after(async () => browser.close());
  beforeEach(async () => (hub = await TestHub.start({ args: hubArgs() })));
  afterEach(async () => {
    const complaints = people.flatMap((one) => one.complaints);
    for (const one of people.splice(0)) {
      // What a test has put between page and hub may still be at work.
      await one.page.unrouteAll({ behavior: "ignoreErrors" });
      await one.context.close();
    }
    await hub.stop();
    assert.deepEqual(complaints, [], "the page complained");
  });
}

/** The page of somebody who is nobody to the hub. */
export async function stranger(options) {
  const one = await visitor(browser, options);
  people.push(one);
  return one.page;
}

/** The inbox of somebody who is logged in. */
export async function someone(options) {
  const page = await stranger(options);
  await logIn(page, hub);
  return page;
}

/** Starts the scripted agent that is built in. */
export function startMock(prompt) {
  return hub.call("POST", "/v1/sessions", { agent: "mock", prompt });
}

/** What `look` finds, as soon as it finds something. */
export async function until(look, what) {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > end) throw new Error(`never seen: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** The question on the screen takes input: its first half second is over. */
export function ready(page) {
  return page.locator("article[data-ready]").waitFor();
}

/** The answer to this question was accepted, which is said above the one that came up by itself after it. */
export function receipt(page, { id }) {
  return page
    .locator(`[data-receipt="${id}"]`)
    .getByText(/^Your (answer|decision) was accepted$/)
    .waitFor();
}

/** The answers that a page has tried to send, also those that no hub took. */
export function sending(page) {
  const sent = [];
  page.on("request", (request) => {
    if (/\/(reply|reject)$/.test(request.url())) sent.push(request.url());
  });
  return sent;
}

/** Whatever a key set off has happened: what it sends is on its way. */
export function quiet(page) {
  return page.evaluate(
    () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)))),
  );
}

/** What a page comes to: `read` until it gives what is wanted, and the difference if it never does. */
export async function becomes(read, wanted) {
  let seen;
  await until(async () => isDeepStrictEqual((seen = await read()), wanted), "").catch(() =>
    assert.deepEqual(seen, wanted),
  );
}
