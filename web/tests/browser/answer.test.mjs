// Answering: every kind, truth after Submit, races, lost connections. One hub per test, real browser, real binary.

import assert from "node:assert/strict";
import { test } from "node:test";

import { shot } from "./browser.mjs";
import { AUTH, DIFF, FEATURES, FORM, LAYOUT, PERMISSION, PLAN } from "./samples.mjs";
import { texts } from "./hub.mjs";
import { becomes, hub, quiet, ready, receipt, someone, stage, startMock, until } from "./stage.mjs";

stage();

async function outcome(id) {
  return (await hub.question(id)).outcome;
}

test("a question appears live and is answered by mouse; the answer is shown as accepted", async () => {
  const page = await someone();
  await page.getByText("No open questions").waitFor();
  const { id } = await hub.ask(AUTH);
  await page.getByRole("heading", { name: "Claude Code asks" }).waitFor();
  await becomes(() => page.title(), "(1) askd");
  assert.match(await page.locator('link[rel="icon"]').getAttribute("href"), /^data:image\/png/);
  await page.getByRole("radio", { name: /Sessions/ }).check();
  assert.equal((await hub.question(id)).status, "requested", "nothing is sent before Submit");
  await page.getByRole("button", { name: "Submit" }).click();
  await page.getByRole("heading", { name: "Your answer was accepted" }).waitFor();
  const { answers, by } = await outcome(id);
  assert.deepEqual(texts(answers), [["Sessions"]]);
  assert.equal(by.surface, "web");
  await becomes(() => page.title(), "askd");
  await shot(page, "accepted");
});

test("the empty inbox says how to connect each agent, and lets the demo ask", async () => {
  const page = await someone();
  const { agents } = await hub.call("GET", "/v1/agents");
  for (const { name, questions } of agents) {
    if (questions.state !== "no" && name !== "mock") await page.getByText(`askd run ${name} `).waitFor();
  }
  for (const command of ["askd install claude", "askd install opencode", "askd attach opencode", "askd doctor"])
    await page.getByText(command).waitFor();
  await shot(page, "empty");
  await page.getByRole("button", { name: "Let the demo ask something" }).click();
  await page.getByText("How should people sign in to the shop?").first().waitFor();
});

test("several items in one panel, with Other, notes and a pointer at what is missing", async () => {
  const { id } = await hub.ask(FEATURES);
  const page = await someone();
  await page.getByRole("checkbox", { name: /Dark mode/ }).check();
  await page.getByRole("checkbox", { name: /Analytics/ }).check();
  await page.getByRole("textbox", { name: "Other: your own answer" }).first().fill("Offline mode");
  await page
    .getByRole("button", { name: /Add a note/ })
    .first()
    .click();
  await page.getByRole("textbox", { name: "Note to the agent" }).fill("dark first");
  await page.getByRole("button", { name: /^Submit/ }).click();
  await page.getByText("2 of 3 are not answered.").waitFor();
  assert.equal((await hub.question(id)).status, "requested");
  await shot(page, "sections");
  await page.getByRole("radio", { name: "Fly" }).check();
  await page.locator("textarea[data-field]").fill("Plog");
  await page.getByRole("button", { name: /^Submit/ }).click();
  await page.getByRole("heading", { name: "Your answer was accepted" }).waitFor();
  const { answers, notes } = await outcome(id);
  assert.deepEqual(texts(answers), [["Dark mode", "Analytics", "Offline mode"], ["Fly"], ["Plog"]]);
  assert.deepEqual(notes, ["dark first", null, null]);
});

test("previews stand beside the options, whole; many items are tabs with a review", async () => {
  const { id } = await hub.ask(LAYOUT);
  const page = await someone();
  await page.getByRole("radio", { name: /Top bar/ }).check();
  const sheet = page.getByRole("group", { name: "Preview text" });
  const text = await sheet.innerText();
  assert.match(text, /Top bar/);
  assert.match(text, /row 40/, "nothing is cut");
  const [options, preview] = [
    await page.getByRole("radiogroup").locator("label").first().boundingBox(),
    await sheet.boundingBox(),
  ];
  assert.ok(preview.x >= options.x + options.width, "beside, not below");
  assert.ok(await sheet.evaluate((box) => box.scrollHeight > box.clientHeight), "it scrolls");
  await shot(page, "preview");
  await page.getByRole("radio", { name: /Command palette/ }).check();
  await sheet.getByRole("table").waitFor();
  await page.getByRole("button", { name: /^Next/ }).click();
  await page.getByRole("radio", { name: "Warm" }).check();
  await page.getByRole("button", { name: /^Next/ }).click();
  await page.getByRole("tab", { name: "Review", selected: true }).waitFor();
  await shot(page, "review");
  assert.equal((await hub.question(id)).status, "requested");
  await page.getByRole("button", { name: /^Submit/ }).click();
  await page.getByRole("heading", { name: "Your answer was accepted" }).waitFor();
  assert.deepEqual(texts((await outcome(id)).answers), [["Command palette"], ["Warm"]]);
});

test("a plan is approved with edits in the wanted mode, or sent back with feedback", async () => {
  const [first, second] = [await hub.ask(PLAN), await hub.ask(PLAN)];
  const page = await someone();
  await page.getByRole("button", { name: /Edit first/ }).click();
  const editor = page.getByRole("textbox", { name: "The plan, as you want it" });
  await editor.fill(`${await editor.inputValue()}\n4. Log out everywhere`);
  await page.getByRole("combobox", { name: "Then go on in mode" }).selectOption("acceptEdits");
  await page.getByRole("button", { name: /Approve with edits/ }).click();
  await receipt(page, first);
  const approved = await outcome(first.id);
  assert.deepEqual(texts(approved.answers), [["approve"]]);
  assert.match(approved.editedPlan, /4\. Log out everywhere$/);
  assert.equal(approved.nextMode, "acceptEdits");
  assert.ok(page.url().endsWith(second.id), "the next question has come by itself");
  await ready(page);
  await page.getByRole("button", { name: /Send back with feedback/ }).click();
  await page.getByText("goes back to").waitFor();
  await page.getByRole("textbox", { name: "What should be different?" }).fill("No e-mail, please");
  await shot(page, "plan-send-back");
  await page.getByRole("button", { name: "Send back", exact: true }).click();
  await page.getByRole("heading", { name: "Your decision was accepted" }).waitFor();
  const refused = await outcome(second.id);
  assert.deepEqual([refused.status, refused.mode, refused.reason], ["rejected", "decline", "No e-mail, please"]);
});

test("a permission shows the command and the agent's own options; not answering says what it does first", async () => {
  const [{ id }, diff] = [await hub.ask(PERMISSION), await hub.ask(DIFF)];
  const page = await someone();
  await page.getByText("rm -rf ./node_modules && npm ci --ignore-scripts").waitFor();
  assert.equal(await page.getByRole("textbox", { name: /Other/ }).count(), 0, "a permission takes no own words");
  await page.getByRole("button", { name: /Do not answer/ }).click();
  await page.getByText("Codex stops what it is doing now and waits for your next message.").waitFor();
  assert.equal((await hub.question(id)).status, "requested");
  await shot(page, "do-not-answer");
  await page.getByRole("textbox", { name: /Reason/ }).focus();
  await page.keyboard.press("Control+Enter");
  await page.getByRole("radio", { name: /Decline/ }).focus();
  await page.keyboard.press("Enter");
  assert.equal((await hub.question(id)).status, "requested", "Enter never turns a refusal into an answer");
  await page.getByRole("radio", { name: /Stop the turn/ }).check();
  await page.getByRole("button", { name: "Stop the turn" }).click();
  await receipt(page, { id });
  assert.equal((await outcome(id)).mode, "interrupt");
  assert.ok(page.url().endsWith(diff.id));
  await page.locator(".added", { hasText: "post.draft" }).waitFor();
});

test("a form has typed fields, says what is wrong beside them and keeps secrets out of sight and storage", async () => {
  const { id } = await hub.ask(FORM);
  const page = await someone();
  await page.getByRole("button", { name: /^Submit/ }).click();
  await page.getByText("This needs an answer.").waitFor();
  await page.getByRole("textbox", { name: /Which host/ }).fill("build-1");
  assert.equal(
    await page.getByRole("textbox", { name: /Which port/ }).inputValue(),
    "8080",
    "the default is filled in",
  );
  await page.getByRole("textbox", { name: /Which port/ }).fill("99999");
  await page.getByRole("radio", { name: "Yes" }).check();
  await page.getByLabel(/From which day/).fill("2026-12-01");
  const secret = page.getByLabel(/The deploy token/);
  assert.equal(await secret.getAttribute("type"), "password");
  await secret.fill("hunter2");
  const link = page.getByRole("link", { name: "Open", exact: true });
  assert.equal(await link.getAttribute("href"), "https://example.org/terms?for=deploy");
  assert.match(await link.getAttribute("rel"), /noopener/);
  await page.getByRole("radio", { name: "I opened it" }).check();
  await shot(page, "form");
  assert.doesNotMatch(await page.evaluate(() => JSON.stringify(localStorage)), /hunter2/);
  await page.getByRole("button", { name: /^Submit/ }).click();
  await page.getByText("1 of 7 are not answered.").waitFor();
  await page.getByRole("button", { name: /^Submit/ }).click();
  await page.getByText(/is not between 1 and 65535/).waitFor();
  assert.equal(await page.getByRole("textbox", { name: /Which port/ }).inputValue(), "99999", "what was typed stays");
  // The focus is where something must be done.
  await page.locator('[data-field][aria-invalid="true"]:focus').waitFor();
  await page.getByRole("textbox", { name: /Which port/ }).fill("8443");
  await page.getByRole("button", { name: /^Submit/ }).click();
  await page.getByRole("button", { name: /^Submit/ }).click();
  await page.getByRole("heading", { name: "Your answer was accepted" }).waitFor();
  await page.getByText("kept secret").waitFor();
  const { answers } = (await hub.question(id)).outcome;
  assert.deepEqual(
    texts(answers),
    [["build-1"], ["8443"], ["true"], ["2026-12-01"], ["hunter2"], ["opened"], []],
    "the asker reads the secret",
  );
});

test("lists take one value a line, each is checked by its type, and what nobody touched goes back as it came", async () => {
  const at = "2026-11-15T07:00:30.250+01:00";
  const { id } = await hub.ask({
    kind: "form",
    questions: [
      { question: "Which ports?", input: "integer", multiple: true, required: true, bounds: { minItems: 2 } },
      { question: "Which files?", input: "text", multiple: true, default: ["a.txt", "b.txt"] },
      { question: "When?", input: "datetime", default: [at] },
      {
        question: "Which features?",
        multiple: true,
        custom: false,
        options: ["x", "y", "z"],
        bounds: { minItems: 2, maxItems: 3 },
        default: ["x", "y"],
      },
    ],
  });
  const page = await someone();
  await page.getByText("At least 2, one a line. Each: a whole number.").waitFor();
  await page.getByText("Pick 2 to 3.").waitFor();
  assert.equal(await page.getByRole("checkbox", { checked: true }).count(), 0, "what is suggested is not picked");
  for (const name of [/^x/, /^y/]) await page.getByRole("checkbox", { name }).check();
  const ports = page.getByRole("textbox", { name: /Which ports/ });
  await ports.fill("80\nx");
  await shot(page, "lists");
  await page.getByRole("button", { name: /^Submit/ }).click();
  await page.getByText('Value 2: "x" is not an integer').waitFor();
  await ports.fill("80\n443");
  await page.getByRole("button", { name: /^Submit/ }).click();
  await page.getByRole("heading", { name: "Your answer was accepted" }).waitFor();
  assert.deepEqual(texts((await outcome(id)).answers), [["80", "443"], ["a.txt", "b.txt"], [at], ["x", "y"]]);
});

test("what need not be answered can be unpicked by a second click; what must be answered stays picked", async () => {
  const { id } = await hub.ask({
    kind: "form",
    questions: [
      { question: "Use TLS?", input: "boolean" },
      { question: "Where?", options: ["Fly", "Own server"] },
      { question: "Which way?", options: ["Left", "Right"], required: true },
    ],
  });
  const page = await someone();
  for (const [name, stays] of [
    ["Yes", false],
    ["Fly", false],
    ["Left", true],
  ]) {
    const radio = page.getByRole("radio", { name });
    await radio.click();
    await becomes(() => radio.isChecked(), true);
    await radio.click();
    await becomes(() => radio.isChecked(), stays);
  }
  await page.getByRole("radio", { name: "Other" }).first().click();
  await page.getByRole("radio", { name: "Other" }).first().click();
  await becomes(() => page.getByRole("radio", { name: "Other" }).first().isChecked(), false);
  await page.getByText("Own server").click();
  await page.getByText("Own server").click();
  await page.getByText("No", { exact: true }).click();
  await page.getByRole("button", { name: /^Submit/ }).click();
  await page.getByText("1 of 3 are not answered.").waitFor();
  await page.getByRole("button", { name: /^Submit/ }).click();
  await page.getByRole("heading", { name: "Your answer was accepted" }).waitFor();
  assert.deepEqual(texts((await outcome(id)).answers), [["false"], [], ["Left"]]);
});

test("a call that was cancelled elsewhere, or a turn that was stopped, is called so", async () => {
  for (const [mode, words] of [
    ["cancel", "Call cancelled"],
    ["interrupt", "Turn stopped"],
  ]) {
    const { id } = await hub.ask({ ...PERMISSION, rejectModes: ["decline", "cancel", "interrupt"] });
    const page = await someone();
    await page.goto(`${hub.url}/#/inbox/${id}`);
    await page.getByRole("button", { name: /^Submit/ }).waitFor();
    await hub.call("POST", `/v1/questions/${id}/reject`, { mode });
    await page.getByRole("heading", { name: `${words} by owner in the API` }).waitFor();
    await page.goto(`${hub.url}/#/history`);
    await page.getByText(words, { exact: true }).first().waitFor();
  }
});

test("two browsers race: one wins, the other is told who, where and what, and keeps its words", async () => {
  const { id } = await hub.ask(AUTH);
  const [one, two] = [await someone(), await someone()];
  await two.getByRole("textbox", { name: "Other: your own answer" }).fill("Passkeys, because phones");
  await one.getByRole("radio", { name: /JWT/ }).check();
  await one.getByRole("button", { name: /^Submit/ }).click();
  await one.getByRole("heading", { name: "Your answer was accepted" }).waitFor();
  await two.getByRole("heading", { name: /^Answered by .* in the web inbox$/ }).waitFor();
  await two.getByText("What you had typed is kept:").waitFor();
  assert.match(await two.locator("article").innerText(), /JWT[\s\S]*Passkeys, because phones/);
  await shot(two, "answered-elsewhere");
  await two.reload();
  await two.goto(`${hub.url}/#/inbox/${id}`);
  await two.getByText("Passkeys, because phones").waitFor();
});

test("both submit at the same moment: exactly one outcome, and the loser sees the winner's", async () => {
  const { id } = await hub.ask(AUTH);
  const [one, two] = [await someone(), await someone()];
  await one.getByRole("radio", { name: /JWT/ }).check();
  await two.getByRole("radio", { name: /Sessions/ }).check();
  await Promise.all([one, two].map((page) => page.evaluate(() => document.querySelector("[data-submit]")?.click())));
  await one.getByRole("heading", { name: /accepted|Answered by/ }).waitFor();
  const [winner] = (await outcome(id)).answers[0].picks;
  const [won, lost] = winner === "JWT" ? [one, two] : [two, one];
  await won.getByRole("heading", { name: "Your answer was accepted" }).waitFor();
  await lost.getByRole("heading", { name: /^Answered by/ }).waitFor();
  assert.match(await lost.locator("article dd").first().innerText(), new RegExp(winner));
});

test("a reply that comes second is refused by the hub, and the page shows the outcome that won", async () => {
  const { id } = await hub.ask(AUTH);
  const page = await someone();
  const statuses = [];
  await page.route("**/reply", async (route) => {
    await hub.reply(id, [["JWT"]]);
    const response = await route.fetch();
    await route.fulfill({ response });
    statuses.push(response.status());
  });
  await page.getByRole("textbox", { name: "Other: your own answer" }).fill("Passkeys");
  await page.getByRole("button", { name: /^Submit/ }).click();
  await page.getByRole("heading", { name: "Answered by owner in the API" }).waitFor();
  await page.getByText("What you had typed is kept:").waitFor();
  await becomes(() => statuses, [409]);
});

test("whoever types on after his question has ended answers nothing else by it", async () => {
  const { id } = await hub.ask({ questions: [{ question: "What shall I do?" }] });
  const permission = await hub.ask(PERMISSION);
  const page = await someone();
  await page.goto(`${hub.url}/#/inbox/${id}`);
  await page.locator("textarea[data-field]").click();
  await page.keyboard.type("Do this:\n");
  await hub.call("POST", `/v1/questions/${id}/reject`, {});
  await page.getByRole("heading", { name: /^Declined by/ }).waitFor();
  await page.keyboard.type("please\n1\n1\n\nJg h");
  await page.getByText("Keys do nothing until you press Esc or click.").waitFor();
  assert.ok(page.url().endsWith(id), "still at the question that ended");
  assert.equal((await hub.question(permission.id)).status, "requested");
  await shot(page, "keys-rest");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Enter");
  await page.getByRole("radio", { name: "Yes, once" }).waitFor();
  await ready(page);
  await page.keyboard.press("1");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Your answer was accepted" }).waitFor();
  assert.deepEqual(texts((await outcome(permission.id)).answers), [["allow_once"]]);
});

test("the loser of a race is told so and is not moved on by the same Enter; a click goes on", async () => {
  const [first, second] = [await hub.ask(PERMISSION), await hub.ask(PERMISSION)];
  const page = await someone();
  await page.route("**/reply", async (route) => {
    await hub.reply(first.id, [["reject_once"]]);
    await route.continue();
  });
  await page.goto(`${hub.url}/#/inbox/${first.id}`);
  await ready(page);
  await page.keyboard.press("1");
  await page.keyboard.down("Enter");
  await page.getByText("What you sent came second and was not taken.").waitFor();
  await page.keyboard.down("Enter");
  await page.keyboard.up("Enter");
  await page.keyboard.press("Enter");
  assert.ok(page.url().endsWith(first.id), "the outcome stays to be read");
  await page.getByRole("button", { name: /Next question/ }).click();
  await until(() => page.url().endsWith(second.id), "the next question");
  assert.equal(await page.getByText("Keys do nothing").count(), 0);
});

test("an Enter that is held submits once: it neither skips what is missing nor acts on the question that comes next", async () => {
  const [first, second] = [await hub.ask(AUTH), await hub.ask(AUTH)];
  const page = await someone();
  await page.goto(`${hub.url}/#/inbox/${first.id}`);
  await ready(page);
  await page.getByRole("button", { name: /^Submit/ }).focus();
  for (let i = 0; i < 4; i += 1) await page.keyboard.down("Enter");
  await page.getByText("Nothing is answered yet.").waitFor();
  await page.keyboard.up("Enter");
  assert.equal((await hub.question(first.id)).status, "requested");
  await page.getByRole("radio", { name: /JWT/ }).check();
  await page.keyboard.down("Enter");
  await receipt(page, first);
  assert.ok(page.url().endsWith(second.id));
  await ready(page);
  for (let i = 0; i < 4; i += 1) await page.keyboard.down("Enter");
  await page.keyboard.up("Enter");
  await quiet(page);
  assert.equal(await page.getByText("Nothing is answered yet.").count(), 0);
  assert.equal((await hub.question(second.id)).status, "requested");
});

test("offline in the middle of an answer: the words stay, the error is said, and the second try is taken once", async () => {
  const { id } = await hub.ask(AUTH);
  const page = await someone();
  await page.getByRole("textbox", { name: "Other: your own answer" }).fill("Passkeys");
  await page.context().setOffline(true);
  await page.locator('[data-light="offline"]').waitFor();
  await page.getByRole("button", { name: /^Submit/ }).click();
  await page.getByText(/The hub cannot be reached\. Your answer is kept here/).waitFor();
  assert.equal((await hub.question(id)).status, "requested");
  await shot(page, "offline");
  await page.context().setOffline(false);
  await page.locator('[data-light="live"]').waitFor();
  assert.equal(await page.getByRole("textbox", { name: "Other: your own answer" }).inputValue(), "Passkeys");
  await page.getByRole("button", { name: /^Submit/ }).click();
  await page.getByRole("heading", { name: "Your answer was accepted" }).waitFor();
  assert.deepEqual(texts((await outcome(id)).answers), [["Passkeys"]]);
});

test("the answer arrived but its receipt was lost: sending again succeeds, and the page never claims what it does not know", async () => {
  const { id } = await hub.ask(AUTH);
  const page = await someone();
  let [lose, lost] = [true, false];
  await page.route("**/reply", async (route) => {
    if (!lose) return route.continue();
    lose = false;
    await route.fetch();
    await route.abort("connectionreset");
    lost = true;
  });
  await page.getByRole("radio", { name: /JWT/ }).check();
  await page.getByRole("button", { name: /^Submit/ }).click();
  // Either the stream tells that it was taken, or the person sends again; both end in the truth.
  await page.getByRole("heading", { name: "Your answer was accepted" }).waitFor();
  await until(() => lost, "the lost receipt");
  assert.deepEqual(texts((await outcome(id)).answers), [["JWT"]]);
});

test("the hub is killed and restarted while a form is open: the light tells, the draft stays, the answer is taken", async () => {
  const { id } = await hub.ask(FEATURES);
  const page = await someone();
  await page.getByRole("checkbox", { name: /i18n/ }).check();
  await page.locator("textarea[data-field]").fill("Plog");
  await hub.kill();
  await page.locator('[data-light="offline"]').waitFor();
  await page.getByRole("radio", { name: "Own server" }).check();
  await hub.run();
  const later = await hub.ask(AUTH);
  await page.locator('[data-light="live"]').waitFor();
  await page.locator(`[data-id="${later.id}"]`).waitFor();
  await page.reload();
  await page.locator('[data-light="live"]').waitFor();
  assert.ok(await page.getByRole("checkbox", { name: /i18n/ }).isChecked(), "the draft survives a reload too");
  assert.equal(await page.locator("textarea[data-field]").inputValue(), "Plog");
  await page.getByRole("button", { name: /^Submit/ }).click();
  await receipt(page, { id });
  assert.deepEqual(texts((await outcome(id)).answers), [["i18n"], ["Own server"], ["Plog"]]);
});

test("a question that is withdrawn or expires says so and offers what was typed", async () => {
  const { id } = await hub.ask(AUTH);
  const page = await someone();
  await page.getByRole("textbox", { name: "Other: your own answer" }).fill("half a thought");
  await hub.call("POST", `/v1/questions/${id}/withdraw`, { reason: "found it myself" });
  await page.getByRole("heading", { name: "No longer asked" }).waitFor();
  await page.getByText("The program that asked took its question back: found it myself").waitFor();
  await page.getByText("half a thought").waitFor();
  await page.getByRole("button", { name: /Copy the question/ }).waitFor();
  await shot(page, "withdrawn");
});

test("where an answer would be typed into a terminal, the page says so before", async () => {
  await startMock("question");
  const page = await someone();
  await page.getByRole("button", { name: /^Submit/ }).waitFor();
  assert.equal(await page.getByText("will be typed").count(), 0);
  // What the hub says of an agent in tmux that no hook waits for.
  await page.route("**/v1/questions/que_*", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), road: "keys" } });
  });
  await page.reload();
  await page.getByText("your answer will be typed into the agent’s dialog").waitFor();
});

test("own words that are an option's hidden value are refused beside the field, and own words that are a label are that option", async () => {
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
  const page = await someone();
  const request = page.waitForRequest(/reply$/);
  await page.getByRole("textbox", { name: "Other: your own answer" }).fill("2");
  await page.getByRole("button", { name: /^Submit/ }).click();
  assert.deepEqual((await request).postDataJSON().answers, [{ picks: [], words: ["2"] }]);
  await page.locator("article .errors", { hasText: "Delete them now" }).waitFor();
  assert.equal((await hub.question(id)).status, "requested");
  await page.getByRole("textbox", { name: "Other: your own answer" }).fill("One week");
  await page.getByRole("button", { name: /^Submit/ }).click();
  await page.getByRole("heading", { name: "Your answer was accepted" }).waitFor();
  assert.deepEqual((await outcome(id)).answers, [{ picks: ["1"], labels: ["One week"], words: [] }]);
});
