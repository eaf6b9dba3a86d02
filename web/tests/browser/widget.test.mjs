// <askd-question> of the SDK in a page of another origin, as a chat client would use it: the page that the documentation tells to run.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { after, before, beforeEach, test } from "node:test";
import { fileURLToPath } from "node:url";

import { shot, violations } from "./browser.mjs";
import { AUTH, DIFF, FEATURES, FORM, LAYOUT, PERMISSION, PLAN } from "./samples.mjs";
import { texts } from "./hub.mjs";
import { becomes, hub, quiet, sending, stage, startMock, stranger, until } from "./stage.mjs";

const SDK = fileURLToPath(new URL("../../../sdk/typescript/", import.meta.url));
const TSC = fileURLToPath(new URL("../../node_modules/typescript/bin/tsc", import.meta.url));

let server;
let origin;
let page;

before(async () => {
  execFileSync(process.execPath, [TSC, "-p", SDK], { stdio: "inherit", timeout: 300_000 });
  server = spawn(process.execPath, [`${SDK}examples/widget/serve.mjs`], {
    env: { ...process.env, PORT: "0" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [address] = await once(createInterface({ input: server.stdout }), "line");
  ({ origin } = new URL(address));
});
after(() => server?.kill());
stage({ hubArgs: () => ["--allow-origin", origin] });
beforeEach(async () => (page = await stranger({ viewport: { width: 900, height: 800 } })));

async function open(what, from = origin) {
  await page.goto(`${from}/examples/widget/#${new URLSearchParams({ hub: hub.url, token: hub.token, ...what })}`);
  await page.reload(); // Another fragment alone is not another page.
}
const widget = () => page.locator("askd-question");
const reached = (state) => page.locator(`askd-question[state="${state}"]`).waitFor({ state: "attached" });

test("found by call id: hidden, then the form, then a compact summary, from another origin", async () => {
  await open({ call: "toolu_1" });
  await reached("hidden");
  assert.equal(await widget().isVisible(), false);
  const { id } = await hub.ask({ ...AUTH, tool: { callId: "toolu_1" } });
  await page.getByRole("radio", { name: /JWT/ }).check();
  await shot(page, "widget-form");
  assert.deepEqual(await violations(page, "askd-question"), []);
  await page.getByRole("button", { name: "Submit" }).click();
  await page.getByText("Answered by").waitFor();
  await page.getByText('The chat goes on: answered [{"picks":["JWT"],"labels":["JWT"],"words":[]}]').waitFor();
  await reached("settled");
  assert.deepEqual(texts((await hub.question(id)).outcome.answers), [["JWT"]]);
  await shot(page, "widget-summary");
  assert.deepEqual(await violations(page, "askd-question"), []);
});

test("a managed agent's question: the answer is submitted and waits for the agent until the agent goes on", async () => {
  const { id: session } = await startMock("question");
  const asked = await until(
    async () => (await hub.call("GET", "/v1/questions?status=requested")).questions[0],
    "the agent's question",
  );
  const { pid } = await hub.call("GET", `/v1/sessions/${session}`);
  // An agent that takes its time.
  process.kill(pid, "SIGSTOP");
  try {
    await open({ question: asked.id });
    await page.getByRole("radio", { name: /Option A/ }).check();
    await page.getByRole("button", { name: "Submit" }).click();
    await page.getByText("Answer submitted, waiting for the agent…").waitFor();
    await reached("waiting");
    await shot(page, "widget-waiting");
  } finally {
    process.kill(pid, "SIGCONT");
  }
  await page.getByText("The chat goes on").waitFor();
  await reached("settled");
  assert.equal((await hub.question(asked.id)).delivery.state, "confirmed");
});

/** Holds the responses to answers; gives the function that lets them go, and lets `before` act first. */
async function holdResponses(before = async () => undefined) {
  let release;
  const released = new Promise((done) => (release = done));
  await page.route("**/reply", async (route) => {
    await before();
    const response = await route.fetch();
    await released;
    await route.fulfill({ response });
  });
  return release;
}
const own = () => page.getByRole("textbox", { name: "Other: your own answer" });
const TYPED = "What you had typed:";

test("what was sent is not offered again where the stream is faster than the response", async () => {
  await startMock("question");
  const asked = await until(
    async () => (await hub.call("GET", "/v1/questions?status=requested")).questions[0],
    "the agent's question",
  );
  await open({ question: asked.id });
  await own().fill("my own long words");
  const release = await holdResponses();
  await page.getByRole("button", { name: "Submit" }).click();
  await until(async () => (await hub.question(asked.id)).delivery?.state === "confirmed", "the agent has it");
  await quiet(page);
  assert.equal(await page.getByText(TYPED).count(), 0);
  release();
  await page.locator('askd-question[by="here"]').waitFor({ state: "attached" });
  await page.getByText("Answered by you").waitFor();
  assert.equal(await page.getByText(TYPED).count(), 0);
  assert.deepEqual(texts((await hub.question(asked.id)).outcome.answers), [["my own long words"]]);
});

test("what was sent and lost against another answer is offered again, also where the stream is faster", async () => {
  const { id } = await hub.ask(AUTH);
  await open({ question: id });
  await own().fill("my own long words");
  const release = await holdResponses(() => hub.reply(id, [["JWT"]]));
  await page.getByRole("button", { name: "Submit" }).click();
  await until(async () => (await hub.question(id)).status === "answered", "the other answer");
  await quiet(page);
  release();
  await page.getByText(TYPED).waitFor();
  await page.getByText("my own long words").waitFor();
  assert.equal(await page.locator("askd-question").getAttribute("by"), "elsewhere");
});

test("several items with one Submit: check boxes, Other, a note, own words", async () => {
  const { id } = await hub.ask(FEATURES);
  await open({ question: id });
  await page.getByRole("checkbox", { name: /Dark mode/ }).check();
  await page.getByRole("textbox", { name: "Other: your own answer" }).first().fill("Offline mode");
  await page.getByRole("button", { name: "Add a note" }).first().click();
  await page.getByRole("textbox", { name: "Note to the agent" }).fill("dark first");
  await page.getByRole("button", { name: "Submit" }).click();
  // What is missing is pointed at.
  await becomes(() => page.getByText("Not answered yet.").count(), 2);
  assert.equal((await hub.question(id)).status, "requested");
  await page.getByRole("radio", { name: "Fly" }).check();
  await page.getByRole("textbox", { name: /What shall it be called/ }).fill("Plog");
  await shot(page, "widget-several");
  assert.deepEqual(await violations(page, "askd-question"), []);
  await page.getByRole("button", { name: "Submit" }).click();
  await reached("settled");
  const { answers, notes } = (await hub.question(id)).outcome;
  assert.deepEqual(texts(answers), [["Dark mode", "Offline mode"], ["Fly"], ["Plog"]]);
  assert.deepEqual(notes, ["dark first", null, null]);
});

test("answered elsewhere replaces the form and keeps the typed words; what is wrong stays on the form", async () => {
  const { id } = await hub.ask(FORM);
  await open({ question: id });
  await page.getByLabel("Which port?").fill("99999");
  await page.getByRole("button", { name: "Submit" }).click();
  await page.getByText("This needs an answer.").waitFor();
  await page.getByLabel("Which host?").fill("build-1");
  await page.getByLabel("The deploy token").fill("hunter2");
  await page.getByRole("button", { name: "Submit" }).click();
  await page.getByRole("button", { name: "Submit without the rest" }).click();
  await page
    .getByText(/is not between 1 and 65535/)
    .first()
    .waitFor();
  assert.equal(await page.getByLabel("Which host?").inputValue(), "build-1");
  await hub.call("POST", `/v1/questions/${id}/reject`, { reason: "elsewhere" });
  await page.getByText("Declined by owner").waitFor();
  await page.getByText("build-1").waitFor();
  assert.equal(await page.getByText("hunter2").count(), 0, "a secret is not rescued into the open");
});

test("lists take one value a line, and what nobody touched goes back as it came", async () => {
  const at = "2026-11-15T07:00:30.250+01:00";
  const { id } = await hub.ask({
    kind: "form",
    questions: [
      { question: "Which ports?", input: "integer", multiple: true, bounds: { minItems: 2 } },
      { question: "Which files?", input: "text", multiple: true, default: ["a.txt", "b.txt"] },
      { question: "When?", input: "datetime", default: [at] },
    ],
  });
  await open({ question: id });
  await page.getByText("One a line, at least 2.").waitFor();
  assert.match(await page.getByLabel("When?").inputValue(), /^2026-11-15T06:00:30\.25/, "in the reader's own zone");
  await page.getByLabel("Which ports?").fill("80\n443\n");
  await page.getByRole("button", { name: "Submit" }).click();
  await reached("settled");
  assert.deepEqual(texts((await hub.question(id)).outcome.answers), [["80", "443"], ["a.txt", "b.txt"], [at]]);
  const other = await hub.ask({ ...AUTH, rejectModes: ["cancel"] });
  await open({ question: other.id });
  await page.getByRole("button", { name: "Submit" }).waitFor();
  await hub.call("POST", `/v1/questions/${other.id}/reject`, { mode: "cancel" });
  await page.getByText("Call cancelled by owner").waitFor();
});

test("previews stand beside the options, whole, as text or as Markdown; a diff is shown as one", async () => {
  const layout = await hub.ask(LAYOUT);
  await open({ question: layout.id });
  await page.getByRole("radio", { name: /Top bar/ }).check();
  const sheet = page.getByRole("group", { name: "Preview", exact: true });
  assert.match(await sheet.innerText(), /Top bar[\s\S]*row 40/);
  const [options, preview] = [
    await page.getByRole("radiogroup").first().locator("label").first().boundingBox(),
    await sheet.boundingBox(),
  ];
  assert.ok(preview.x >= options.x + options.width, "beside, not below");
  assert.ok(await sheet.evaluate((box) => box.scrollHeight > box.clientHeight), "it scrolls");
  await page.getByRole("radio", { name: /Command palette/ }).check();
  await sheet.getByRole("table").waitFor();
  await shot(page, "widget-preview");
  assert.deepEqual(await violations(page, "askd-question"), []);
  await page.getByRole("button", { name: "Show as text" }).click();
  assert.match(await sheet.innerText(), /^# Palette/);
  assert.equal(
    await page.locator("askd-question strong", { hasText: "colour" }).count(),
    1,
    "the question itself is rendered too",
  );
  await open({ question: (await hub.ask(DIFF)).id });
  await page.locator("askd-question .added", { hasText: "post.draft" }).waitFor();
});

test("a plan is rendered, approved with edits in the wanted mode, or sent back with feedback", async () => {
  const [first, second] = [await hub.ask(PLAN), await hub.ask(PLAN)];
  await open({ question: first.id });
  await page.getByText("one-time link").waitFor();
  await shot(page, "widget-plan");
  assert.deepEqual(await violations(page, "askd-question"), []);
  await page.getByRole("button", { name: "Edit first" }).click();
  const editor = page.getByRole("textbox", { name: "The plan, as you want it" });
  await editor.fill(`${await editor.inputValue()}\n4. Log out everywhere`);
  // Its last line must be on the screen.
  await editor.evaluate((one) => {
    one.scrollTop = one.scrollHeight;
    one.scrollIntoView({ block: "end" });
  });
  await page.getByRole("combobox", { name: "Then go on in mode" }).selectOption("acceptEdits");
  await page.getByRole("button", { name: "Approve with edits" }).click();
  await page.getByText("Approved with edits").waitFor();
  const approved = (await hub.question(first.id)).outcome;
  assert.match(approved.editedPlan, /4\. Log out everywhere$/);
  assert.equal(approved.nextMode, "acceptEdits");
  await open({ question: second.id });
  await page.getByText("Send back with feedback").click();
  await page.getByText("The agent is told that you declined").waitFor();
  await page.getByLabel("What should be different?").fill("smaller");
  await page.getByRole("button", { name: "Send back" }).click();
  await page.getByText("Declined by").waitFor();
  assert.equal((await hub.question(second.id)).outcome.reason, "smaller");
});

test("hostile text stays text", async () => {
  const evil =
    '<img src=x onerror="window.pwned=1"> [go](javascript:window.pwned=2) ![x](https://evil.example/t.png) \u001b[2J\u202egnp.exe';
  const { id } = await hub.ask({
    agent: "claude",
    body: { format: "markdown", text: evil },
    questions: [{ header: evil, question: evil, options: [{ label: evil, description: evil, preview: `# ${evil}` }] }],
  });
  const foreign = [];
  page.on("request", (request) => {
    if (request.url().includes("evil.example")) foreign.push(request.url());
  });
  await open({ question: id });
  await page.getByRole("radio").first().check();
  assert.equal(await page.evaluate(() => window.pwned), undefined);
  assert.deepEqual(foreign, []);
  assert.equal(await page.locator('askd-question img, askd-question a[href^="javascript" i]').count(), 0);
  const text = await widget().evaluate((one) => one.shadowRoot.textContent);
  assert.doesNotMatch(text, /\u001b|\u202e/);
  assert.match(text, /<img src=x onerror=/);
});

test("the page's variables are its theme, and an origin that the hub does not allow gets nothing", async () => {
  const { id } = await hub.ask(AUTH);
  await open({ question: id });
  const submit = page.getByRole("button", { name: "Submit" });
  await submit.waitFor();
  assert.equal(
    await submit.evaluate((one) => getComputedStyle(one).backgroundColor),
    "rgb(127, 214, 163)",
    "--askd-accent of the example's page.css",
  );
  await open({ question: id }, origin.replace("127.0.0.1", "localhost"));
  await reached("failed");
  assert.equal(await submit.count(), 0);
});

/** The question of the widget takes input: its first half second is over. */
const awake = () =>
  page.waitForFunction(
    () => document.querySelector("askd-question").shadowRoot.querySelector('[part="submit"]')?.inert === false,
  );

test("a plan of 60 lines is not approved by widget.focus() and Enters, nor by a click at once, but after its end was seen", async () => {
  const { id } = await hub.ask({
    ...PLAN,
    body: { format: "markdown", text: Array.from({ length: 60 }, (_, i) => `${i + 1}. step`).join("\n") },
  });
  const sent = sending(page);
  // What a chat does for a new question: it gives it the focus. And a hand that clicks where Approve comes up.
  await page.addInitScript(() =>
    addEventListener("askd-asked", ({ target }) => {
      target.focus();
      setTimeout(() => target.shadowRoot.querySelector('[part="submit"]').click(), 30);
    }),
  );
  await open({ question: id });
  await page.locator("askd-question .question:focus").waitFor();
  for (const gap of [60, 250, 600, 1500]) {
    await page.keyboard.press("Enter");
    await page.waitForTimeout(gap);
  }
  for (let i = 0; i < 6; i += 1) await page.keyboard.down("Enter");
  await page.keyboard.up("Enter");
  await page.keyboard.press("1");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Approve" }).click({ force: true });
  await page.getByText("Read the plan to its end first.").waitFor();
  await quiet(page);
  assert.deepEqual([(await hub.question(id)).status, sent], ["requested", []]);
  await page.locator("askd-question .end").scrollIntoViewIfNeeded();
  await page.getByText("Read the plan to its end first.").waitFor({ state: "detached" });
  await widget().evaluate((one) => one.focus());
  await page.keyboard.press("Enter");
  await page.getByText("Press 1, then Enter, to approve.").waitFor();
  await page.keyboard.press("1");
  await page.keyboard.press("Enter");
  await reached("settled");
  assert.deepEqual(texts((await hub.question(id)).outcome.answers), [["approve"]]);
});

test("in the widget nothing is pre-selected, a second click of the same movement sends nothing, and 2 and Enter send the second option", async () => {
  const { id } = await hub.ask({ ...AUTH, questions: [{ ...AUTH.questions[0], default: ["JWT"] }] });
  const sent = sending(page);
  await open({ question: id });
  await awake();
  await page.getByText("(suggested)").waitFor();
  assert.equal(await page.getByRole("radio", { checked: true }).count(), 0);
  await page.getByRole("button", { name: "Submit" }).dblclick();
  await page.getByText("Not answered yet.").waitFor();
  await page.keyboard.press("Enter");
  await quiet(page);
  assert.deepEqual([(await hub.question(id)).status, sent], ["requested", []]);
  await widget().evaluate((one) => one.focus());
  await page.keyboard.press("2");
  await page.keyboard.press("Enter");
  await reached("settled");
  assert.deepEqual(texts((await hub.question(id)).outcome.answers), [["Sessions"]]);
});

test("a response that comes when another question has taken the place of its own says nothing about that one", async () => {
  const [first, second] = [await hub.ask(AUTH), await hub.ask(PERMISSION)];
  await open({ question: first.id });
  await awake();
  let release;
  const held = new Promise((go) => (release = go));
  await page.route("**/reply", async (route) => {
    const response = await route.fetch();
    await held;
    await route.fulfill({ response });
  });
  await page.getByRole("radio", { name: /JWT/ }).check();
  const answered = page.waitForResponse(/reply$/);
  await page.getByRole("button", { name: "Submit" }).click();
  await until(async () => (await hub.question(first.id)).status === "answered", "the answer at the hub");
  await widget().evaluate((one, id) => one.setAttribute("question-id", id), second.id);
  await page.getByText("May I run this command?").waitFor();
  release();
  await answered;
  await quiet(page);
  await reached("asking");
  await page.getByRole("radio", { name: "Yes, once" }).check();
  await page.getByRole("button", { name: "Submit" }).click();
  await reached("settled");
  assert.deepEqual(texts((await hub.question(second.id)).outcome.answers), [["allow_once"]]);
});

test("a secret choice keeps its picks beside own words, and a plan's own option is the one that is sent", async () => {
  const secret = await hub.ask({
    questions: [{ question: "scopes?", multiple: true, secret: true, options: ["read", "write", "admin"] }],
  });
  await open({ question: secret.id });
  await page.getByRole("checkbox", { name: "read" }).check();
  await page.getByRole("textbox", { name: "Other: your own answer" }).fill("deploy");
  const request = page.waitForRequest(/reply$/);
  await page.getByRole("button", { name: "Submit" }).click();
  assert.deepEqual((await request).postDataJSON().answers, [{ picks: ["read"], words: ["deploy"] }]);
  await reached("settled");
  const plan = await hub.ask({
    ...PLAN,
    body: { format: "markdown", text: "# P" },
    questions: [{ question: "ok?", custom: false, options: [{ label: "Proceed", value: "proceed" }] }],
  });
  await open({ question: plan.id });
  await page.getByRole("button", { name: "Proceed" }).click();
  await reached("settled");
  assert.deepEqual(texts((await hub.question(plan.id)).outcome.answers), [["proceed"]]);
});

test("in the widget, too, own words that are an option's hidden value are refused beside the field, and a label is that option", async () => {
  const { id } = await hub.ask({
    questions: [
      {
        question: "When?",
        options: [
          { label: "One week", value: "1" },
          { label: "Delete them now", value: "2" },
        ],
      },
    ],
  });
  await open({ question: id });
  await awake();
  const request = page.waitForRequest(/reply$/);
  await page.getByRole("textbox", { name: "Other: your own answer" }).fill("2");
  await page.getByRole("button", { name: "Submit" }).click();
  assert.deepEqual((await request).postDataJSON().answers, [{ picks: [], words: ["2"] }]);
  await page.locator('askd-question [part="item"] .problem', { hasText: "Delete them now" }).waitFor();
  assert.equal((await hub.question(id)).status, "requested");
  await page.getByRole("textbox", { name: "Other: your own answer" }).fill("One week");
  await page.getByRole("button", { name: "Submit" }).click();
  await reached("settled");
  assert.deepEqual((await hub.question(id)).outcome.answers, [{ picks: ["1"], labels: ["One week"], words: [] }]);
});

const submit = () => page.locator('askd-question [part="submit"]');
const hideWidget = (hidden) =>
  page.evaluate((hidden) => (document.querySelector("askd-question").style.display = hidden ? "none" : ""), hidden);

test("a widget that was hidden when its question came takes no input when it is shown, nor one that was hidden meanwhile", async () => {
  const asked = await hub.ask(AUTH);
  const sent = sending(page);
  await page.addInitScript(() => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync("askd-question:not(.up) { display: none }");
    document.adoptedStyleSheets = [sheet];
  });
  await open({ question: asked.id });
  await reached("asking");
  // Long enough for a question that is drawn.
  await page.waitForTimeout(1100);
  await widget().evaluate(async (one) => {
    one.classList.add("up");
    await new Promise((next) => requestAnimationFrame(next));
    one.shadowRoot.querySelector("input[type=radio]").click();
    one.shadowRoot.querySelector('[part="submit"]').click();
  });
  await quiet(page);
  assert.deepEqual([(await hub.question(asked.id)).status, sent], ["requested", []]);
  await becomes(() => submit().getAttribute("aria-disabled"), "false");
  await hideWidget(true);
  await becomes(() => submit().getAttribute("aria-disabled"), "true");
  await widget().evaluate(async (one) => {
    one.style.display = "";
    await new Promise((next) => requestAnimationFrame(next));
    one.focus();
    for (const key of ["1", "Enter"])
      one.shadowRoot.activeElement.dispatchEvent(
        new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, composed: true }),
      );
  });
  await quiet(page);
  assert.deepEqual([(await hub.question(asked.id)).status, sent], ["requested", []]);
  await becomes(() => submit().getAttribute("aria-disabled"), "false");
  await widget().evaluate((one) => one.focus());
  await page.keyboard.press("1");
  await page.keyboard.press("Enter");
  await reached("settled");
});

test("a short plan of a widget that was hidden is not approved by a click when it is shown", async () => {
  const plan = await hub.ask({ ...PLAN, body: { format: "markdown", text: "1. one" } });
  const sent = sending(page);
  await open({ question: plan.id });
  await becomes(() => submit().getAttribute("aria-disabled"), "false");
  await hideWidget(true);
  await becomes(() => submit().getAttribute("aria-disabled"), "true");
  await widget().evaluate(async (one) => {
    one.style.display = "";
    for (let i = 0; i < 2; i += 1) await new Promise((next) => requestAnimationFrame(next));
    one.shadowRoot.querySelector('[part="submit"]').click();
  });
  await quiet(page);
  assert.deepEqual([(await hub.question(plan.id)).status, sent], ["requested", []]);
  await becomes(() => submit().getAttribute("aria-disabled"), "false");
  await submit().click();
  await reached("settled");
});

test("in the widget editing a plan approves nothing, 1 puts no focus on Approve, and own words left by Escape are not sent by Enter", async () => {
  const [plan, asked] = [await hub.ask({ ...PLAN, body: { format: "markdown", text: "1. one" } }), await hub.ask(AUTH)];
  const sent = sending(page);
  await open({ question: plan.id });
  await becomes(() => submit().getAttribute("aria-disabled"), "false");
  await page.getByRole("button", { name: "Edit first" }).click();
  await page.keyboard.press("x");
  await widget().evaluate((one) => one.focus());
  await page.keyboard.press("Enter");
  await page.getByText("Press 1, then Enter, to approve.").waitFor();
  await page.keyboard.press("1");
  await page.getByText("Approval is picked. Enter sends it.").waitFor();
  await page.keyboard.press(" ");
  await quiet(page);
  assert.deepEqual([(await hub.question(plan.id)).status, sent], ["requested", []]);
  await open({ question: asked.id });
  await awake();
  await page.getByRole("textbox", { name: "Other: your own answer" }).focus();
  await page.keyboard.type("half an ans");
  for (const key of ["Escape", "Enter", "Enter"]) await page.keyboard.press(key);
  await page.getByText("You left your own words.").waitFor();
  await quiet(page);
  assert.deepEqual([(await hub.question(asked.id)).status, sent], ["requested", []]);
  await page.getByRole("textbox", { name: "Other: your own answer" }).press("Enter");
  await reached("settled");
});
