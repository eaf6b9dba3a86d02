// <askd-question> as an element of somebody else's page: moved, restyled, translated, many at once, and in trouble.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, beforeEach, test } from "node:test";

import { shot, violations } from "./browser.mjs";
import { addWidgets, foreignPages, pages, SDK, serve } from "./foreign.mjs";
import { texts } from "./hub.mjs";
import { AUTH, DIFF, FEATURES, FORM, LAYOUT, PERMISSION, PLAN } from "./samples.mjs";
import { becomes, hub, quiet, sending, stage, stranger } from "./stage.mjs";

let origin;
let page;

foreignPages();
before(async () => (origin = await serve()));
stage({ hubArgs: () => ["--allow-origin", origin] });
beforeEach(async () => {
  page = await stranger({ viewport: { width: 800, height: 900 } });
  await page.goto(origin);
});

const widget = () => page.locator("askd-question");
const add = (...all) =>
  addWidgets(
    page,
    all.map((one) => ({ hub: hub.url, token: hub.token, ...one })),
  );
const show = async (input) => {
  const asked = await hub.ask(input);
  await add({ "question-id": asked.id });
  await reached("asking");
  return asked;
};
const reached = (state) => page.locator(`askd-question[state="${state}"]`).first().waitFor({ state: "attached" });
const told = () => page.evaluate(() => globalThis.told);
const submit = () => page.locator('askd-question [part="submit"]');
const awake = () => becomes(() => submit().getAttribute("aria-disabled"), "false");

test("an element that is moved, made anew, or given another client of the same hub keeps what was typed, and asks once", async () => {
  const { id } = await show(FEATURES);
  await awake();
  await page.getByRole("checkbox", { name: /i18n/ }).check();
  await page.getByRole("textbox", { name: /What shall it be called/ }).fill("Plog");
  await widget().evaluate((one) => {
    const place = document.createElement("section");
    document.querySelector("main").append(place);
    one.remove();
    place.append(one);
  });
  await quiet(page);
  const kept = async () => {
    assert.equal(await page.getByRole("textbox", { name: /What shall it be called/ }).inputValue(), "Plog");
    assert.equal(await page.getByRole("checkbox", { name: /i18n/ }).isChecked(), true);
  };
  await kept();
  await widget().evaluate(
    async (one, [url, token]) => {
      const { AskdClient } = await import("/dist/index.js");
      one.client = new AskdClient({ url, token, surface: "web" });
      await new Promise((done) => setTimeout(done));
      one.client = new AskdClient({ url, token, surface: "web" });
    },
    [hub.url, hub.token],
  );
  await quiet(page);
  await kept();
  assert.deepEqual(await told(), ["asked"]);
  await widget().evaluate((one) => one.remove());
  await add({ "question-id": id });
  await reached("asking");
  await kept();
  // It is as new as one that was just drawn, and takes an answer after that.
  await awake();
  await page.getByRole("radio", { name: "Fly" }).check();
  await submit().click();
  await reached("settled");
  assert.deepEqual(texts((await hub.question(id)).outcome.answers), [["i18n"], ["Fly"], ["Plog"]]);
});

test("each event is told once, only an answer or a rejection is accepted, and a page can style how it ended", async () => {
  const first = await show(AUTH);
  await awake();
  await page.getByRole("radio", { name: /JWT/ }).check();
  await submit().click();
  await reached("settled");
  await quiet(page);
  assert.deepEqual(await told(), ["asked", "accepted", "settled"]);
  const attributes = () =>
    widget()
      .last()
      .evaluate((one) => ["outcome", "by", "kind"].map((name) => one.getAttribute(name)));
  assert.deepEqual(await attributes(), ["answered", "here", "choice"]);
  await page.evaluate(() => (globalThis.told = []));
  const second = await hub.ask(PERMISSION);
  await add({ "question-id": second.id });
  await page.getByText("May I run this command?").waitFor();
  await hub.call("POST", `/v1/questions/${second.id}/withdraw`, {});
  await page.getByText("No longer asked").waitFor();
  await quiet(page);
  assert.deepEqual(await told(), ["asked", "settled"]);
  assert.deepEqual(await attributes(), ["cancelled", "elsewhere", "permission"]);
  assert.equal((await hub.question(first.id)).status, "answered");
});

test("the summary says what was asked, what was picked among what, by whom and when, and which pick was not used", async () => {
  const { id } = await show(AUTH);
  await awake();
  await page.getByRole("radio", { name: /JWT/ }).check();
  await hub.reply(id, [["Sessions"]]);
  await page.getByText("Answered by owner").waitFor();
  await page.getByText("Your pick JWT was not used.").waitFor();
  await page.getByText("Which auth method should we use?").waitFor();
  await page.locator('askd-question [part="answer"]', { hasText: "Sessions" }).waitFor();
  await page.getByText("2 options").click();
  await page.getByRole("listitem").filter({ hasText: "Sessions (picked)" }).waitFor();
  await widget().evaluate((one) => one.remove());
  const { id: permission } = await show(PERMISSION);
  await awake();
  await page.getByRole("radio", { name: "Yes, once" }).check();
  await submit().focus();
  await submit().press("Enter");
  await page.getByText("Answered by you").waitFor();
  await page.locator("askd-question code", { hasText: "rm -rf ./node_modules" }).waitFor();
  assert.equal(
    await widget().evaluate((one) => one.shadowRoot.activeElement?.getAttribute("part")),
    "summary",
    "the focus stays",
  );
  await shot(page, "element-summary");
  for (const [status, act] of [
    ["rejected", (id) => hub.call("POST", `/v1/questions/${id}/reject`, { reason: "too early" })],
    ["cancelled", (id) => hub.call("POST", `/v1/questions/${id}/withdraw`, {})],
  ]) {
    await widget().evaluate((one) => one.remove());
    const other = await show(AUTH);
    await act(other.id);
    await page.locator(`askd-question[outcome="${status}"]`).getByText("Which auth method should we use?").waitFor();
  }
  assert.equal((await hub.question(permission)).outcome.answers[0].labels[0], "Yes, once");
});

test("an answer that was sent to an agent which then ended is not called undelivered", async () => {
  const { id } = await hub.ask(AUTH);
  await hub.reply(id, [["JWT"]]);
  const question = await hub.question(id);
  const text = await page.evaluate(async (question) => {
    const { summary } = await import("/dist/widget-summary.js");
    const delivery = {
      state: "failed",
      at: question.outcome.at,
      attempts: 1,
      error: { reason: "unconfirmed", detail: "the agent exited with code 7" },
    };
    return summary({ ...question, delivery }, { picks: [], typed: "" }, false).textContent;
  }, question);
  assert.match(text, /Sent; the agent ended before it showed that it had read it/);
  assert.doesNotMatch(text, /Not delivered/);
});

test("at 320 px nothing of a command or a diff lies outside of the box, and long plans are folded", async () => {
  await page.setViewportSize({ width: 320, height: 700 });
  const command =
    "find . -name '*.tmp' -print0 | xargs -0 rm -rf -- && git push --force origin main:refs/heads/everything-of-everybody";
  await show({ ...PERMISSION, body: { format: "command", text: command } });
  await show({
    ...DIFF,
    body: { format: "diff", text: `+const all = "${"dangerous ".repeat(30)}";\n-${"x".repeat(300)}\n` },
  });
  const long = Array.from({ length: 60 }, (_, i) => `${i + 1}. step\n\n`).join("");
  await show({ ...PLAN, body: { format: "markdown", text: `${long}\n\n\`\`\`sh\n${command}\n\`\`\`` } });
  await becomes(() => page.locator('askd-question [part="body"]').count(), 3);
  const wider = await page.evaluate(() =>
    [...document.querySelectorAll("askd-question")].flatMap((one) =>
      [...one.shadowRoot.querySelectorAll('[part="body"], [part="body"] *')]
        .filter((box) => box.scrollWidth > box.clientWidth + 1 && box.clientWidth > 0)
        .map((box) => box.outerHTML.slice(0, 80)),
    ),
  );
  assert.deepEqual(wider, []);
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 320);
  const plan = page.getByRole("group", { name: "Plan", exact: true });
  assert.ok((await plan.boundingBox()).height < 500, "folded");
  await plan.scrollIntoViewIfNeeded();
  await page.getByRole("button", { name: /Show all/ }).click();
  assert.ok((await plan.boundingBox()).height > 1000, "whole");
  await shot(page, "element-narrow");
});

test("feedback that was typed is not thrown away by another button", async () => {
  const plan = await show({ ...PLAN, body: { format: "markdown", text: "1. one" } });
  const sent = sending(page);
  await awake();
  await page.getByText("Send back with feedback").click();
  await page.getByLabel("What should be different?").fill("smaller");
  await submit().click();
  await page.getByText("You wrote feedback.").waitFor();
  await widget().evaluate((one) => one.remove());
  const choice = await show(AUTH);
  await awake();
  await page.getByRole("radio", { name: /JWT/ }).check();
  await page.getByText("Do not answer").click();
  await page.getByLabel("Reason, for the agent").fill("neither");
  await submit().click();
  await page.getByText("You wrote a reason for not answering.").waitFor();
  await quiet(page);
  assert.deepEqual(sent, []);
  for (const { id } of [plan, choice]) assert.equal((await hub.question(id)).status, "requested");
});

test("twenty on a page, of every kind, in light and dark and with two variables, have nothing that axe finds", async () => {
  const samples = [AUTH, FEATURES, LAYOUT, PLAN, PERMISSION, DIFF, FORM, AUTH, PERMISSION, AUTH];
  const asked = await Promise.all([...samples, ...samples].map((one) => hub.ask(one)));
  await Promise.all(
    asked.slice(0, 2).map(({ id }) => hub.call("POST", `/v1/questions/${id}/reject`, { reason: "later" })),
  );
  await add(...asked.map(({ id }) => ({ "question-id": id })));
  await becomes(() => page.locator('askd-question[state="asking"]').count(), 18);
  await becomes(
    () =>
      page
        .locator('askd-question [part="submit"][aria-disabled="false"]')
        .count()
        .then((count) => count >= 1),
    true,
  );
  assert.deepEqual(await violations(page), []);
  await page.evaluate(() => (document.documentElement.style.colorScheme = "dark"));
  assert.deepEqual(await violations(page), []);
  for (const [ink, surface] of [
    ["#f5f0ff", "#23143f"],
    ["#10231c", "#f3fff8"],
  ]) {
    await page.evaluate(
      ([ink, surface]) => {
        document.documentElement.style.cssText = `--askd-ink: ${ink}; --askd-surface: ${surface}`;
      },
      [ink, surface],
    );
    assert.deepEqual(await violations(page), []);
  }
  await shot(page, "element-twenty");
});

test("a long list is filtered without a pick, and digits typed in the page's own field pick nothing", async () => {
  const options = Array.from({ length: 30 }, (_, i) => ({ label: `Region ${i + 1}`, value: `r${i + 1}` }));
  const { id } = await show({ questions: [{ question: "Where?", options }] });
  await page.evaluate(() =>
    document.querySelector("main").prepend(Object.assign(document.createElement("textarea"), { id: "composer" })),
  );
  await awake();
  await page.locator("#composer").focus();
  await page.keyboard.type("1 2");
  await page.keyboard.press("Control+Enter");
  assert.equal(await page.getByRole("radio", { checked: true }).count(), 0);
  await page.getByRole("searchbox", { name: "Filter 30 options" }).fill("27");
  await becomes(() => page.getByRole("radio", { name: /Region/ }).count(), 1);
  await page.keyboard.press("Enter");
  assert.equal((await hub.question(id)).status, "requested");
  await page.getByRole("radio", { name: "Region 27" }).check();
  await page.keyboard.press("Control+Enter");
  await reached("settled");
  assert.deepEqual(texts((await hub.question(id)).outcome.answers), [["r27"]]);
});

test("who asks, from where, since when and until when, in the page's own words, slots and direction of writing", async () => {
  await page.evaluate(async () => {
    const { useWords } = await import("/dist/widget.js");
    useWords({ submit: "Senden", verbs: { choice: "fragt", plan: "", permission: "", form: "" } });
  });
  const deadline = new Date(Date.now() + 3_600_000).toISOString();
  await show({ ...AUTH, deadline, questions: [{ question: "أي طريقة؟", options: ["نعم", "لا"] }] });
  const head = page.locator('askd-question [part="head"]');
  await head.getByText("Claude Code fragt").waitFor();
  for (const text of [
    "Add sign-in",
    "/home/ada/projects/shop",
    "on laptop",
    "waiting a moment",
    "the asker gives up at",
  ])
    await head.getByText(text).waitFor();
  await page.getByRole("button", { name: "Senden" }).waitFor();
  assert.equal(await page.getByText("أي طريقة؟").evaluate((one) => getComputedStyle(one).direction), "rtl");
  await widget().evaluate((one) => {
    const own = Object.assign(document.createElement("p"), { slot: "head", textContent: "Our own head" });
    const after = Object.assign(document.createElement("p"), { slot: "after", textContent: "Our own end" });
    one.append(own, after);
  });
  await page.getByText("Our own head").waitFor();
  await page.getByText("Our own end").waitFor();
  assert.equal(await head.isVisible(), false);
});

test("every trouble has a code, says what to do, and can be tried again", async () => {
  const { id } = await hub.ask(AUTH);
  const one = async (attributes) => {
    await page.evaluate(() => document.querySelectorAll("askd-question").forEach((one) => one.remove()));
    await addWidgets(page, [attributes]);
  };
  const failed = (code) => page.locator(`askd-question[state="failed"][error="${code}"]`).waitFor();
  await one({ hub: hub.url, token: "askd_nobody", "question-id": id });
  await failed("not_logged_in");
  await page.getByText("askd token create").waitFor();
  await one({ hub: hub.url, token: hub.token, "question-id": "que_00000000000000000000000000" });
  await failed("not_found");
  const { token } = await hub.call("POST", "/v1/tokens", { name: "reader", rights: ["read"] });
  await one({ hub: hub.url, token, "question-id": id });
  await awake();
  await page.getByRole("radio", { name: /JWT/ }).check();
  await submit().click();
  await page.getByText("This token is not allowed to do that").waitFor();
  assert.equal((await told()).at(-1), "failed");
  await one({ hub: "127.0.0.1:9", token: hub.token, "question-id": id });
  await reached("misconfigured");
  await one({ hub: hub.url, "question-id": id });
  await reached("misconfigured");
  await page.getByText("has no token").waitFor();
  const { port } = new URL(origin);
  await one({ hub: `http://127.0.0.1:${port}`, token: hub.token, "question-id": id });
  await failed("not_a_hub");
  await hub.kill();
  await one({ hub: hub.url, token: hub.token, "question-id": id });
  await failed("hub_away");
  await page.getByText("askd up").waitFor();
  await hub.run();
  await page.getByRole("button", { name: "Try again" }).click();
  await reached("asking");
  await page.goto(origin.replace("127.0.0.1", "localhost"));
  await one({ hub: hub.url, token: hub.token, "question-id": id });
  await failed("origin_not_allowed");
  await page.getByText(`askd up --allow-origin ${origin.replace("127.0.0.1", "localhost")}`).waitFor();
});

test("a token that is revoked while the form is open is named, and what was typed is there again with a new one", async () => {
  const { id } = await hub.ask(FEATURES);
  const [first, second] = await Promise.all(
    ["first", "second"].map((name) => hub.call("POST", "/v1/tokens", { name, rights: ["answer"] })),
  );
  await addWidgets(page, [{ hub: hub.url, token: first.token, "question-id": id }]);
  await awake();
  await page.getByRole("textbox", { name: /What shall it be called/ }).fill("Plog");
  await hub.call("DELETE", `/v1/tokens/${first.id}`);
  await page.locator('askd-question[state="failed"][error="token_ended"]').waitFor();
  await page.getByText("Give this page a new one.").waitFor();
  await widget().evaluate((one, token) => one.setAttribute("token", token), second.token);
  await reached("asking");
  assert.equal(await page.getByRole("textbox", { name: /What shall it be called/ }).inputValue(), "Plog");
});

test("a form says that the hub is back, and nothing was sent by itself", async () => {
  const { id } = await show(AUTH);
  await awake();
  await page.getByRole("radio", { name: /JWT/ }).check();
  await hub.kill();
  await submit().click();
  await page.getByText("Sending again is safe.").waitFor();
  await hub.run();
  await page.getByText("The hub is back.").waitFor();
  await page.getByText("Sending again is safe.").waitFor({ state: "hidden" });
  assert.equal((await hub.question(id)).status, "requested");
  await submit().click();
  await reached("settled");
});

test("the page with which the documents begin works as it stands there", async () => {
  const text = readFileSync(`${SDK}../../docs/own-product.md`, "utf8");
  const [, html] = text.match(/```html\n([\s\S]*?)```/);
  assert.ok(html.trim().split("\n").length <= 20);
  const own = html.replaceAll("http://127.0.0.1:2753", hub.url).replace("YOUR TOKEN", hub.token);
  pages.set("/chat", own);
  await page.goto(`${origin}/chat`);
  const { id } = await hub.ask(AUTH);
  await awake();
  await page.getByRole("radio", { name: /JWT/ }).check();
  await submit().click();
  await page.getByText("Answered by you").waitFor();
  assert.deepEqual(texts((await hub.question(id)).outcome.answers), [["JWT"]]);
  // The same file under the name of its content, as `integrity` needs it.
  const files = await fetch(`${hub.url}/sdk/widget.js`);
  assert.match(files.headers.get("content-type"), /javascript/);
  assert.equal(files.headers.get("cache-control"), "no-cache");
});
