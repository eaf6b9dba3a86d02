// <askd-question> of the SDK in a page of another origin, as a chat client would use it.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { fileURLToPath } from "node:url";

import { launch, shot } from "./browser.mjs";
import { freePort, TestHub } from "./hub.mjs";
import { AUTH, FORM, LAYOUT, PLAN } from "./samples.mjs";

const SDK = fileURLToPath(new URL("../../../sdk/typescript/", import.meta.url));
const TSC = fileURLToPath(new URL("../../node_modules/typescript/bin/tsc", import.meta.url));

let browser;
let server;
let origin;
let hub;
let page;
let complaints;

before(async () => {
  execFileSync(process.execPath, [TSC, "-p", SDK], { stdio: "inherit", timeout: 120_000 });
  const port = await freePort();
  origin = `http://127.0.0.1:${port}`;
  server = spawn(process.execPath, [`${SDK}examples/widget/serve.mjs`], { env: { ...process.env, PORT: String(port) }, stdio: ["ignore", "pipe", "inherit"] });
  await once(server.stdout, "data");
  browser = await launch();
});
after(async () => {
  await browser?.close();
  server?.kill();
});
beforeEach(async () => {
  hub = await TestHub.start({ args: ["--allow-origin", origin] });
  page = await (await browser.newContext({ viewport: { width: 900, height: 800 } })).newPage();
  page.setDefaultTimeout(15_000);
  complaints = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
});
afterEach(async () => {
  await page.context().close();
  await hub.stop();
  assert.deepEqual(complaints, []);
});

const open = (what) => page.goto(`${origin}/examples/widget/#${new URLSearchParams({ hub: hub.url, token: hub.token, ...what })}`);
const state = () => page.locator("askd-question").getAttribute("state");

test("found by call id: hidden, then the form, then a compact summary, from another origin", async () => {
  await open({ call: "toolu_1" });
  await page.waitForTimeout(300);
  assert.equal(await state(), "hidden");
  assert.equal(await page.locator("askd-question").isVisible(), false);
  const { id } = await hub.ask({ ...AUTH, tool: { callId: "toolu_1" } });
  await page.getByRole("radio", { name: /JWT/ }).check();
  await shot(page, "widget-form");
  await page.getByRole("button", { name: "Submit" }).click();
  await page.getByText("Answered by").waitFor();
  await page.getByText('The chat goes on: answered [["JWT"]]').waitFor();
  assert.equal(await state(), "settled");
  assert.deepEqual((await hub.question(id)).outcome.answers, [["JWT"]]);
  await shot(page, "widget-summary");
});

test("a managed agent's question waits for the agent until it is confirmed", async () => {
  await hub.call("POST", "/v1/sessions", { agent: "mock", prompt: "question" });
  let asked;
  for (let i = 0; i < 100 && !asked; i += 1) {
    [asked] = (await hub.call("GET", "/v1/questions?status=requested")).questions;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await open({ question: asked.id });
  const states = await page.evaluateHandle(() => {
    const seen = [];
    new MutationObserver(() => seen.push(document.querySelector("askd-question").getAttribute("state"))).observe(document.querySelector("askd-question"), { attributes: true });
    return seen;
  });
  await page.getByRole("radio", { name: /Option A/ }).check();
  await page.getByRole("button", { name: "Submit" }).click();
  await page.getByText("The chat goes on").waitFor();
  const seen = await states.jsonValue();
  assert.equal(seen.at(-1), "settled");
  assert.ok(seen.includes("sending"));
  assert.equal((await hub.question(asked.id)).delivery.state, "confirmed");
});

test("answered elsewhere replaces the form and keeps the typed words; what is wrong stays on the form", async () => {
  const { id } = await hub.ask(FORM);
  await open({ question: id });
  await page.getByLabel("Which port?").fill("99999");
  await page.getByRole("button", { name: "Submit" }).click();
  await page.getByText("This needs an answer.").waitFor();
  await page.getByLabel("Which host?").fill("build-1");
  await page.getByRole("button", { name: "Submit" }).click();
  await page.getByRole("button", { name: "Submit without the rest" }).click();
  await page.getByText(/is not between 1 and 65535/).first().waitFor();
  assert.equal(await page.getByLabel("Which host?").inputValue(), "build-1");
  await hub.call("POST", `/v1/questions/${id}/reject`, { reason: "elsewhere" });
  await page.getByText("Declined by owner").waitFor();
  await page.getByText("build-1").waitFor();
});

test("a plan is sent back, previews are shown, and hostile text stays text", async () => {
  const plan = await hub.ask({ ...PLAN, questions: [{ question: '<img src=x onerror="window.pwned=1"> right?' }] });
  await open({ question: plan.id });
  await page.getByText("Send back with feedback").click();
  await page.getByLabel("What should be different?").fill("smaller");
  await page.getByRole("button", { name: "Send back" }).click();
  await page.getByText("Declined by").waitFor();
  assert.equal((await hub.question(plan.id)).outcome.reason, "smaller");
  assert.equal(await page.evaluate(() => window.pwned), undefined);
  const layout = await hub.ask(LAYOUT);
  await open({ question: layout.id });
  await page.reload();
  await page.getByRole("radio", { name: /Top bar/ }).check();
  await page.locator("askd-question pre.preview", { hasText: "Top bar" }).waitFor();
  await shot(page, "widget-preview");
});
