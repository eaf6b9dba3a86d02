// History, sources, sessions and real deliveries, with the scripted agent that is built in.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, afterEach, before, beforeEach, test } from "node:test";

import { launch, person, shot } from "./browser.mjs";
import { TestHub } from "./hub.mjs";
import { AUTH, FEATURES, PLAN } from "./samples.mjs";

let browser;
let hub;
const people = [];

before(async () => (browser = await launch()));
after(async () => browser.close());
beforeEach(async () => (hub = await TestHub.start()));
afterEach(async () => {
  const complaints = people.flatMap((one) => one.complaints);
  for (const one of people.splice(0)) await one.context.close();
  await hub.stop();
  assert.deepEqual(complaints, [], "the page complained");
});

async function someone(options) {
  const one = await person(browser, hub, options);
  people.push(one);
  return one.page;
}

const start = (prompt) => hub.call("POST", "/v1/sessions", { agent: "mock", prompt });

test("an agent's question is answered, and sent and confirmed are shown when they are true", async () => {
  await start("question");
  const page = await someone();
  await page.getByRole("heading", { name: "Mock agent asks" }).waitFor();
  await page.getByRole("radio", { name: /Option B/ }).check();
  await page.getByRole("button", { name: /^Submit/ }).click();
  await page.getByRole("list", { name: "Delivery" }).getByText("Confirmed").waitFor();
  await shot(page, "confirmed");
});

test("an agent that dies leaves a question that says so and offers what was typed", async () => {
  const { id } = await start("question");
  const page = await someone();
  await page.getByRole("textbox", { name: "Other: your own answer" }).fill("too late");
  const { pid } = await hub.call("GET", `/v1/sessions/${id}`);
  process.kill(pid, "SIGKILL");
  await page.getByRole("heading", { name: "Mock agent is gone" }).waitFor();
  await page.getByText("process ended by signal 9").waitFor();
  await page.getByText("too late").waitFor();
  await page.getByRole("button", { name: /Copy the question/ }).waitFor();
  await shot(page, "agent-gone");
});

test("a session is followed live, prompted, asked above the box and its answer joins the transcript", async () => {
  const page = await someone();
  await page.goto(`${hub.url}/#/sessions`);
  await page.getByText("Start an agent").click();
  await page.getByRole("combobox", { name: "Agent" }).selectOption("mock");
  await page.getByRole("textbox", { name: /What should it do/ }).fill("hello there");
  await page.getByRole("button", { name: "Start" }).click();
  const log = page.getByRole("log");
  await log.getByText("you said: hello there").waitFor();
  await page.getByRole("textbox", { name: /Say something/ }).fill("question");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Mock agent asks" }).waitFor();
  await shot(page, "session");
  await page.getByRole("radio", { name: /Option A/ }).check();
  await page.getByRole("button", { name: /^Submit/ }).click();
  await log.getByText(/Answered by/).waitFor();
  await log.getByText("Option A").waitFor();
  await log.getByText(/received: .*option-a/).waitFor();
  await page.getByRole("button", { name: "End the session" }).click();
  await page.getByRole("button", { name: /Really end it/ }).click();
  await page.getByText(/conversation was ended|has ended|process ended/).first().waitFor();
});

test("sources say what is attached and how it is; detaching asks twice", async () => {
  await start("question");
  const page = await someone();
  await page.goto(`${hub.url}/#/sources`);
  await page.getByText(/^Connected/).waitFor();
  await page.getByRole("button", { name: "Detach" }).click();
  assert.equal((await hub.call("GET", "/v1/questions?status=requested")).questions.length, 1);
  await page.getByRole("button", { name: /Really/ }).click();
  await page.getByText(/^Ended/).waitFor();
  assert.equal((await hub.call("GET", "/v1/questions?status=requested")).questions.length, 0);
});

test("the history is searched, filtered, read to the agent's own words and exported", async () => {
  const [auth, features] = [await hub.ask(AUTH), await hub.ask(FEATURES)];
  await hub.reply(auth.id, [["JWT"]]);
  await hub.call("POST", `/v1/questions/${features.id}/reject`, { reason: "ask me tomorrow" });
  await hub.ask(PLAN);
  const session = await start("question");
  let native;
  for (let i = 0; i < 100 && !native; i += 1) {
    native = (await hub.call("GET", `/v1/questions?session=${session.id}`)).questions[0];
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await hub.reply(native.id, [["Option A"]]);
  const page = await someone();
  await page.goto(`${hub.url}/#/history`);
  const rows = page.getByRole("list", { name: /Settled questions/ }).getByRole("link");
  await rows.nth(2).waitFor();
  assert.equal(await rows.count(), 3, "open questions are not history");
  await page.getByRole("searchbox").fill("TOMORROW");
  await page.waitForFunction(() => document.querySelectorAll('ul[aria-label^="Settled"] a').length === 1);
  await page.getByRole("searchbox").fill("");
  await page.getByRole("combobox", { name: "Outcome" }).selectOption("answered");
  await page.waitForFunction(() => document.querySelectorAll('ul[aria-label^="Settled"] a').length === 2);
  await page.getByRole("combobox", { name: "Agent" }).selectOption("claude");
  await page.waitForFunction(() => document.querySelectorAll('ul[aria-label^="Settled"] a').length === 1);
  await page.getByRole("combobox", { name: "Project" }).selectOption("/home/ada/projects/shop");
  await page.getByRole("combobox", { name: "Time" }).selectOption("7");
  await rows.first().waitFor();
  await shot(page, "history");
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Export as JSON" }).click()]);
  const exported = JSON.parse(await readFile(await download.path(), "utf8"));
  assert.deepEqual(exported.questions.map(({ id }) => id), [auth.id]);
  await page.goto(`${hub.url}/#/history/${native.id}`);
  await page.getByText("The agent's own words").click();
  await page.getByText(/"jsonrpc"|"method"/).first().waitFor();
  await page.getByText("Option A").first().waitFor();
});

test("notifications are asked for by a click only, show the question and are withdrawn when it is answered elsewhere", async () => {
  const one = await person(browser, hub, { permissions: ["notifications"] });
  people.push(one);
  const { page } = one;
  await page.evaluate(() => {
    // A page that nobody looks at; headless Chromium always claims the opposite.
    Object.defineProperty(document, "hidden", { get: () => true });
    Object.defineProperty(document, "hasFocus", { value: () => false });
    window.asked = 0;
    Notification.requestPermission = async () => {
      window.asked += 1;
      return "granted";
    };
  });
  assert.equal(await page.evaluate(() => window.asked), 0);
  await page.getByRole("button", { name: "Notify me" }).click();
  assert.equal(await page.evaluate(() => window.asked), 1);
  await page.evaluate(() => navigator.serviceWorker.ready);
  const { id } = await hub.ask(AUTH);
  const shown = () => page.evaluate(async () => (await (await navigator.serviceWorker.getRegistration()).getNotifications()).map(({ title, body, tag }) => ({ title, body, tag })));
  let notifications = [];
  for (let i = 0; i < 60 && notifications.length === 0; i += 1) {
    await page.waitForTimeout(50);
    notifications = await shown();
  }
  assert.deepEqual(notifications, [{ title: "Claude Code asks · shop", body: "Which auth method should we use?", tag: id }]);
  await hub.reply(id, [["JWT"]]);
  for (let i = 0; i < 60 && (await shown()).length > 0; i += 1) await page.waitForTimeout(50);
  assert.deepEqual(await shown(), []);
});
