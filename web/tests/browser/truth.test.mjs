// The surface says what the hub said: whose outcome it is, what was typed beyond what was sent, and whether anyone listens.

import assert from "node:assert/strict";
import { test } from "node:test";

import { texts } from "./hub.mjs";
import { AUTH, PLAN } from "./samples.mjs";
import { becomes, hub, quiet, someone, stage, startMock, until } from "./stage.mjs";

stage();

const at = (page, { id }) => page.goto(`${hub.url}/#/inbox/${id}`);
const accepted = (page) => page.getByRole("heading", { name: "Your answer was accepted" }).waitFor();
/** Another answer arrives first, while the page's own is on its way. */
const overtake = (page, id, body) =>
  page.route("**/reply", async (route) => {
    await hub.call("POST", `/v1/questions/${id}/reply`, body);
    await route.continue();
  });

for (const [what, question, fill, first] of [
  [
    "edits of a plan",
    { ...PLAN, body: { format: "markdown", text: "1. one\n2. two" } },
    async (page) => {
      await page.getByRole("button", { name: /Edit first/ }).click();
      await page.getByRole("textbox", { name: "The plan, as you want it" }).fill("# one ONLY");
      await page.getByRole("button", { name: /^Approve with edits/ }).click();
    },
    { answers: [["approve"]] },
  ],
  [
    "a note",
    AUTH,
    async (page) => {
      await page.getByRole("radio", { name: /JWT/ }).check();
      await page.getByRole("button", { name: /Add a note/ }).click();
      await page.getByRole("textbox", { name: "Note to the agent" }).fill("but NOT in production");
      await page.getByRole("button", { name: /^Submit/ }).click();
    },
    { answers: [["JWT"]] },
  ],
  [
    "a secret",
    { kind: "form", questions: [{ question: "token?", secret: true, key: "t", input: "text" }] },
    async (page) => {
      await page.locator("[data-field]").fill("mine");
      await page.getByRole("button", { name: /^Submit/ }).click();
    },
    { answers: [["theirs"]] },
  ],
]) {
  test(`an answer that differs in ${what} only and came second is not called accepted`, async () => {
    const { id } = await hub.ask(question);
    const page = await someone();
    await at(page, { id });
    await overtake(page, id, first);
    await fill(page);
    await page.getByText("What you sent came second and was not taken.").waitFor();
    await page.getByRole("heading", { name: "Answered by owner in the API" }).waitFor();
    if (what !== "a secret") await page.getByText("What you had typed is kept:").waitFor();
  });
}

test("words that were typed while the answer was on its way are offered again", async () => {
  const { id } = await hub.ask(AUTH);
  const page = await someone();
  await at(page, { id });
  await page.getByRole("radio", { name: /JWT/ }).check();
  await page.getByRole("button", { name: /Add a note/ }).click();
  const note = page.getByRole("textbox", { name: "Note to the agent" });
  await note.fill("first part");
  let release;
  const held = new Promise((go) => (release = go));
  await page.route("**/reply", async (route) => {
    await held;
    await route.continue();
  });
  await page.getByRole("button", { name: /^Submit/ }).click();
  await note.fill("first part, and please NOT on Friday");
  release();
  await accepted(page);
  await page.getByText("first part, and please NOT on Friday").waitFor();
  await page.reload();
  await page.getByText("first part, and please NOT on Friday").waitFor();
});

test("two tabs do not delete each other's drafts: the second shows what the first has, and both outlive a reload", async () => {
  const [asked, other] = [await hub.ask(AUTH), await hub.ask(AUTH)];
  const one = await someone();
  await at(one, asked);
  const two = await one.context().newPage();
  await at(two, asked);
  const words = (page) => page.getByRole("textbox", { name: "Other: your own answer" });
  await words(two).waitFor();
  await words(one).fill("two hundred words");
  await becomes(() => words(two).inputValue(), "two hundred words");
  await two.locator(`[data-id="${other.id}"]`).click();
  await two.locator(`[data-id="${asked.id}"]`).click();
  await one.reload();
  await becomes(() => words(one).inputValue(), "two hundred words");
  await hub.reply(asked.id, [["JWT"]]);
  for (const page of [one, two]) await page.getByText("two hundred words").waitFor();
  await one.reload();
  await one.getByText("two hundred words").waitFor();
});

test("a prompt is sent once by two Enters, what is typed meanwhile stays, and a double click ends no session", async () => {
  const { id } = await startMock("hello");
  const page = await someone();
  await page.goto(`${hub.url}/#/sessions/${id}`);
  const box = page.getByRole("textbox", { name: /Say something/ });
  await box.waitFor();
  let posts = 0;
  let release;
  const held = new Promise((go) => (release = go));
  await page.route("**/messages", async (route) => {
    posts += 1;
    await held;
    await route.continue();
  });
  await box.fill("run the migration");
  await box.press("Enter");
  await box.press("Enter");
  await page.keyboard.type("and then something else");
  await box.press("Enter");
  release();
  await page.getByRole("log").getByText("you said: run the migration").waitFor();
  await quiet(page);
  assert.deepEqual([posts, await box.inputValue()], [1, "and then something else"]);
  await page.getByRole("button", { name: "End the session" }).dblclick();
  await page.getByRole("button", { name: /Really end it/ }).waitFor();
  await quiet(page);
  assert.equal((await hub.call("GET", `/v1/sessions/${id}`)).live, true);
});

test("a secret of several lines keeps its lines, and is masked", async () => {
  const { id } = await hub.ask({
    kind: "form",
    questions: [{ question: "deploy key?", secret: true, key: "k", input: "multiline" }],
  });
  const page = await someone();
  const field = page.locator("[data-field]");
  const key = "-----BEGIN KEY-----\nAAAA\n-----END KEY-----\n";
  await field.fill(key);
  assert.equal(await field.evaluate((one) => getComputedStyle(one).webkitTextSecurity), "disc");
  await page.getByRole("button", { name: /^Submit/ }).click();
  await accepted(page);
  assert.deepEqual(texts((await hub.question(id)).outcome.answers), [[key]]);
});

test("eight open tabs of one browser share one stream, and each can answer; when the tab that leads is closed another one does", async () => {
  const first = await someone();
  const tabs = [first];
  for (let i = 0; i < 7; i += 1) {
    const tab = await first.context().newPage();
    await tab.goto(`${hub.url}/#/inbox`);
    await tab.locator('[data-light="live"]').waitFor();
    tabs.push(tab);
  }
  for (const tab of [tabs[7], tabs[0], tabs[3]]) {
    const asked = await hub.ask(AUTH);
    for (const one of tabs)
      await one
        .locator("article[data-ready]")
        .or(one.locator(`[data-id="${asked.id}"]`))
        .first()
        .waitFor();
    await at(tab, asked);
    await tab.getByRole("radio", { name: /JWT/ }).check();
    await tab.getByRole("button", { name: /^Submit/ }).click();
    await accepted(tab);
  }
  await first.goto("about:blank");
  const later = await hub.ask(AUTH);
  for (const tab of tabs.slice(1))
    await tab
      .locator(`[data-id="${later.id}"]`)
      .or(tab.getByText("Which auth method should we use?"))
      .first()
      .waitFor();
});

test("the browser's word that it is offline does not stop the page from hearing a hub that answers", async () => {
  const page = await someone();
  await page.evaluate(() => dispatchEvent(new Event("offline")));
  await hub.ask(AUTH);
  await page.getByRole("heading", { name: "Claude Code asks" }).waitFor();
  await page.locator('[data-light="live"]').waitFor();
});

for (const foreign of [
  { status: 404, contentType: "text/html", body: "<h1>404</h1>" },
  { status: 403, contentType: "text/html", body: "no" },
  { status: 401, contentType: "text/html", body: "who?" },
]) {
  test(`a foreign answer with ${foreign.status} on the hub's port deletes no token, and the page lives again when the hub does`, async () => {
    const page = await someone();
    await page.route("**/v1/**", (route) => route.fulfill(foreign));
    await page.evaluate(() => dispatchEvent(new Event("online")));
    await page.getByText("What answers at this address is not the hub").waitFor();
    assert.ok(await page.evaluate(() => localStorage.getItem("askd.token")));
    await page.unroute("**/v1/**");
    await page.locator('[data-light="live"]').waitFor();
  });
}

test("a token that the hub revoked logs the browser out", async () => {
  const page = await someone();
  const { tokens } = await hub.call("GET", "/v1/tokens");
  for (const { id, name } of tokens) if (/browser/.test(name)) await hub.call("DELETE", `/v1/tokens/${id}`);
  await page.evaluate(() => dispatchEvent(new Event("online")));
  await page.getByText("This browser is not logged in").waitFor();
});

test("notifications of questions that end at once, or while the page heard nothing, do not stay", async () => {
  const page = await someone({ permissions: ["notifications"] });
  await page.evaluate(() => navigator.serviceWorker.ready);
  await page.evaluate(() => {
    localStorage.setItem("askd.settings", JSON.stringify({ notify: true }));
    window.desktop = [];
  });
  await page.addInitScript(() => {
    window.desktop = [];
    Object.defineProperty(document, "hidden", { get: () => true });
    Object.defineProperty(document, "hasFocus", { value: () => false });
    // Slow, as a desktop may be.
    ServiceWorkerRegistration.prototype.showNotification = async (_title, { tag }) => {
      await new Promise((shown) => setTimeout(shown, 300));
      window.desktop.push({ tag, close: () => (window.desktop = window.desktop.filter((one) => one.tag !== tag)) });
      window.shown = (window.shown ?? 0) + 1;
    };
    ServiceWorkerRegistration.prototype.getNotifications = async () => window.desktop;
  });
  await page.reload();
  await page.locator('[data-light="live"]').waitFor();
  const { id: kept } = await hub.ask(AUTH);
  await until(() => page.evaluate(() => window.desktop.length === 1), "the notification of an open question");
  for (let i = 0; i < 10; i += 1) await hub.reply((await hub.ask(AUTH)).id, [["JWT"]]);
  const { id: away } = await hub.ask(AUTH);
  await until(
    () => page.evaluate((tag) => window.desktop.some((one) => one.tag === tag), away),
    "the last notification",
  );
  await page.context().setOffline(true);
  await page.locator('[data-light="offline"]').waitFor();
  await hub.reply(away, [["JWT"]]);
  await page.context().setOffline(false);
  await page.locator('[data-light="live"]').waitFor();
  await becomes(() => page.evaluate(() => window.desktop.map(({ tag }) => tag)), [kept]);
});

test("an address that is no address opens the inbox", async () => {
  const page = await someone();
  await page.goto(`${hub.url}/#/inbox/%`);
  await page.getByText("The hub knows no such question.").or(page.getByText("not an id")).first().waitFor();
});
