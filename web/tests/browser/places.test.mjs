// History, sources, sessions and real deliveries, with the scripted agent that is built in.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

import { logIn, shot } from "./browser.mjs";
import { AUTH, FEATURES, PLAN } from "./samples.mjs";
import { becomes, hub, someone, stage, startMock, stranger, until } from "./stage.mjs";

stage();

test("an agent's question is answered, and sent and confirmed are shown when they are true", async () => {
  await startMock("question");
  const page = await someone();
  await page.getByRole("heading", { name: "Mock agent asks" }).waitFor();
  await page.getByRole("radio", { name: /Option B/ }).check();
  await page.getByRole("button", { name: /^Submit/ }).click();
  await page.getByRole("list", { name: "Delivery" }).getByText("Confirmed").waitFor();
  await shot(page, "confirmed");
});

test("an agent that dies leaves a question that says so and offers what was typed", async () => {
  const { id } = await startMock("question");
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
  await page
    .getByText(/conversation was ended|has ended|process ended/)
    .first()
    .waitFor();
});

test("sources say what is attached and how it is; detaching asks twice", async () => {
  await startMock("question");
  const page = await someone();
  await page.goto(`${hub.url}/#/sources`);
  await page.getByText(/^Connected/).waitFor();
  const open = async () => (await hub.call("GET", "/v1/questions?status=requested")).questions.length;
  await becomes(open, 1);
  await page.getByRole("button", { name: "Detach" }).click();
  await page.getByRole("button", { name: /Really/ }).waitFor();
  assert.equal(await open(), 1, "one click cancels nothing");
  await page.getByRole("button", { name: /Really/ }).click();
  await page.getByText(/^Ended/).waitFor();
  await becomes(open, 0);
});

test("the history is searched, filtered, read to the agent's own words and exported", async () => {
  const [auth, features] = [await hub.ask(AUTH), await hub.ask(FEATURES)];
  await hub.reply(auth.id, [["JWT"]]);
  await hub.call("POST", `/v1/questions/${features.id}/reject`, { reason: "ask me tomorrow" });
  await hub.ask(PLAN);
  const session = await startMock("question");
  const native = await until(
    async () => (await hub.call("GET", `/v1/questions?session=${session.id}`)).questions[0],
    "the agent's question",
  );
  await hub.reply(native.id, [["Option A"]]);
  const page = await someone();
  await page.goto(`${hub.url}/#/history`);
  const rows = page.getByRole("list", { name: /Settled questions/ }).getByRole("link");
  // Open questions are not history.
  await becomes(() => rows.count(), 3);
  await page.getByRole("searchbox").fill("TOMORROW");
  await becomes(() => rows.count(), 1);
  await page.getByRole("searchbox").fill("");
  await page.getByRole("combobox", { name: "Outcome" }).selectOption("answered");
  await becomes(() => rows.count(), 2);
  await page.getByRole("combobox", { name: "Agent" }).selectOption("claude");
  await becomes(() => rows.count(), 1);
  await page.getByRole("combobox", { name: "Project" }).selectOption("/home/ada/projects/shop");
  await page.getByRole("combobox", { name: "Time" }).selectOption("7");
  await rows.first().waitFor();
  await shot(page, "history");
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Export as JSON" }).click(),
  ]);
  const exported = JSON.parse(await readFile(await download.path(), "utf8"));
  assert.deepEqual(
    exported.questions.map(({ id }) => id),
    [auth.id],
  );
  await page.goto(`${hub.url}/#/history/${native.id}`);
  await page.getByText("The agent's own words").click();
  await page
    .getByText(/"jsonrpc"|"method"/)
    .first()
    .waitFor();
  await page.getByText("Option A").first().waitFor();
});

test("a server is attached from the page: what is wrong stays on the form, the password is kept nowhere, and it can be detached", async () => {
  const page = await someone();
  await page.goto(`${hub.url}/#/sources`);
  await page.getByText("Attach a server").click();
  const [address, password] = [
    page.getByRole("textbox", { name: /Address/ }),
    page.getByLabel(/Password of the server/),
  ];
  await address.fill("127.0.0.1:4096");
  await password.fill("hunter2");
  await page.getByRole("button", { name: "Attach" }).click();
  await page.getByText("must be an address such as http://127.0.0.1:4096").waitFor();
  assert.equal(await address.getAttribute("aria-invalid"), "true");
  assert.equal(await password.inputValue(), "hunter2", "what was typed stays");
  assert.deepEqual((await hub.call("GET", "/v1/sources")).sources, [], "nothing was attached");
  await shot(page, "attach-refused");
  // Nothing listens on port 9: askd is attached, says that it is lost, and goes on trying.
  const url = "http://127.0.0.1:9";
  await address.fill(url);
  await page.getByRole("button", { name: "Attach" }).click();
  const row = page.getByRole("listitem").filter({ hasText: url });
  await row.getByText(/^Lost, trying again/).waitFor();
  await shot(page, "attached");
  await becomes(() => password.inputValue(), "");
  assert.doesNotMatch(
    await page.evaluate(() => JSON.stringify([localStorage, sessionStorage]) + document.body.innerHTML),
    /hunter2/,
  );
  await row.getByRole("button", { name: "Detach" }).click();
  await row.getByRole("button", { name: /Really/ }).click();
  await row.getByText(/^Ended/).waitFor();
});

test("a session's question is held until the agent's message has settled, and its answer waits for the agent in the transcript", async () => {
  const { id } = await startMock("hello there");
  const page = await stranger();
  await page.clock.install();
  await logIn(page, hub);
  await page.goto(`${hub.url}/#/sessions/${id}`);
  const log = page.getByRole("log");
  await log.getByText("you said: hello there").waitFor();
  const { pid } = await hub.call("GET", `/v1/sessions/${id}`);
  // From here on the page's time stands still.
  await page.clock.pauseAt(Date.now() + 60_000);
  await page.getByRole("textbox", { name: /Say something/ }).fill("question");
  await page.keyboard.press("Enter");
  // What has come by the network is shown by the next tick; the hold is six hundred of them.
  await until(async () => {
    await page.clock.runFor(1);
    return (await page.locator("nav .count").count()) === 1 && (await log.getByText("Ask the user").count()) === 1;
  }, "the question and the words before it");
  await page.clock.runFor(500);
  assert.equal(await page.getByRole("heading", { name: "Mock agent asks" }).count(), 0, "the message has not settled");
  await page.clock.runFor(200);
  await page.getByRole("heading", { name: "Mock agent asks" }).waitFor();
  const [panel, box] = [
    await page.locator("article").boundingBox(),
    await page.getByRole("textbox", { name: /Say something/ }).boundingBox(),
  ];
  assert.ok(panel.y < box.y, "above the box");
  await page.clock.resume();
  process.kill(pid, "SIGSTOP");
  try {
    await page.getByRole("radio", { name: /Option B/ }).check();
    await page.getByRole("button", { name: /^Submit/ }).click();
    await log.getByText(/^Not (sent|confirmed) yet/).waitFor();
  } finally {
    process.kill(pid, "SIGCONT");
  }
  await log.getByText(/^Confirmed/).waitFor();
  await shot(page, "session-answered");
});

test("words typed for a session's question are rescued when it is answered elsewhere", async () => {
  const { id } = await startMock("question");
  const page = await someone();
  await page.goto(`${hub.url}/#/sessions/${id}`);
  await page.getByRole("textbox", { name: "Other: your own answer" }).fill("a third way");
  const [{ id: asked }] = (await hub.call("GET", "/v1/questions?status=requested")).questions;
  await hub.reply(asked, [["Option A"]]);
  await page.getByText("What you had typed is kept:").waitFor();
  await page.getByText("a third way").waitFor();
  await page.getByRole("button", { name: "Discard it" }).click();
  await page.getByRole("article").waitFor({ state: "detached" });
  await page.getByRole("log").getByText("Option A").first().waitFor();
});
