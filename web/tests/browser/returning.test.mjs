// What the page shows of the past, and what it loads when it hears the hub again.

import assert from "node:assert/strict";
import { test } from "node:test";

import { AUTH } from "./samples.mjs";
import { becomes, hub, someone, stage, startMock, stranger, until } from "./stage.mjs";

stage();

/** The page stays where it is; only the address behind the number sign changes. */
const go = (page, hash) => page.evaluate((to) => (location.hash = to), hash);
const light = (page, state) => page.locator(`[data-light="${state}"]`).waitFor();

async function whileAway(page, look) {
  await hub.kill();
  await light(page, "offline");
  await look();
  await hub.run();
  await light(page, "live");
}

test("what could not be loaded while the hub was away is loaded when it is heard again", async () => {
  const { id } = await hub.ask(AUTH);
  await hub.reply(id, [["JWT"]]);
  const page = await someone();
  const away = page.getByText("The hub cannot be reached").first();
  for (const [hash, loaded] of [
    [`#/history/${id}`, () => page.getByText("Which auth method should we use?").first()],
    [
      "#/history",
      () =>
        page
          .getByRole("list", { name: /Settled questions/ })
          .getByRole("link")
          .first(),
    ],
    ["#/inbox", () => page.getByText("askd attach opencode").first()],
    ["#/sessions", () => page.getByRole("option", { name: "OpenCode", exact: true }).first()],
  ]) {
    await go(page, "#/sources");
    await whileAway(page, async () => {
      await go(page, hash);
      await away.waitFor();
    });
    await loaded().waitFor({ state: "attached" });
    assert.equal(await page.getByRole("alert").filter({ hasText: "The hub cannot be reached" }).count(), 0, hash);
  }
});

test("an export that fails says so", async () => {
  const { id } = await hub.ask(AUTH);
  await hub.reply(id, [["JWT"]]);
  const page = await someone();
  await go(page, "#/history");
  await page
    .getByRole("list", { name: /Settled questions/ })
    .getByRole("link")
    .waitFor();
  await whileAway(page, async () => {
    await page.getByRole("button", { name: "Export as JSON" }).click();
    await page.getByRole("alert").filter({ hasText: "The hub cannot be reached" }).waitFor();
  });
});

test("the history keeps its rows and its place when a question ends", async () => {
  for (let i = 0; i < 70; i += 1)
    await hub.reply((await hub.ask({ questions: [{ question: `old ${i}` }] })).id, [["x"]]);
  const page = await someone();
  await go(page, "#/history");
  const rows = page.getByRole("list", { name: /Settled questions/ }).getByRole("link");
  await becomes(() => rows.count(), 50);
  await page.getByRole("button", { name: "Older questions" }).click();
  await becomes(() => rows.count(), 70);
  const { id } = await hub.ask({ questions: [{ question: "the newest" }] });
  await hub.reply(id, [["x"]]);
  await rows.filter({ hasText: "the newest" }).waitFor();
  assert.equal(await rows.count(), 71);
  assert.equal(await page.getByRole("button", { name: "Older questions" }).count(), 0);
});

test("the agent's own words in the history are those of the question that is shown", async () => {
  const ids = [];
  for (const prompt of ["question", "permission"]) {
    const session = await startMock(prompt);
    ids.push(
      await until(async () => (await hub.call("GET", `/v1/questions?session=${session.id}`)).questions[0]?.id, prompt),
    );
  }
  const page = await someone();
  const shown = async (id) => {
    const native = await hub.call("GET", `/v1/questions/${id}/native`);
    await go(page, `#/history/${id}`);
    const folded = page.locator("details").filter({ hasText: "The agent's own words" });
    if ((await folded.getAttribute("open")) === null) await folded.locator("summary").click();
    const words = page.getByRole("group", { name: "The agent's own words" });
    await becomes(async () => (await words.innerText()).trim(), JSON.stringify(native, null, 2));
  };
  await shown(ids[0]);
  await shown(ids[1]);
});

test("what is copied is what is shown: no escape of a terminal and nothing that reorders", async () => {
  const hidden = "ls -la\u001b[201~\rrm -rf ~\r # \u202eecho";
  const { id } = await hub.ask({
    kind: "permission",
    body: { format: "command", text: hidden },
    questions: [{ question: "May I?", options: ["Yes", "No"] }],
  });
  const page = await someone({ permissions: ["clipboard-read", "clipboard-write"] });
  await go(page, `#/inbox/${id}`);
  const body = page.locator("section.body");
  await body.getByRole("button", { name: "Copy" }).click();
  await body.getByText("Copied").waitFor();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  assert.equal(copied.trimEnd(), (await body.locator("pre").innerText()).trimEnd());
  assert.doesNotMatch(copied, /[\u001b\r\u202e]/);
  await hub.reply(id, [["No"]]);
  await go(page, `#/history/${id}`);
  await page.getByText("As JSON").click();
  const json = page.getByRole("group", { name: "The question as JSON" });
  await becomes(async () => JSON.parse(await json.innerText()).body.text, hidden);
  assert.doesNotMatch(await json.innerText(), /[\u001b\u202e]/);
});

test("a prompt that was not sent is there when its session is opened again", async () => {
  const session = await startMock("hello");
  const page = await someone();
  const box = page.getByRole("textbox", { name: /Say something/ });
  await go(page, `#/sessions/${session.id}`);
  await box.fill("ten minutes of words");
  await go(page, "#/inbox");
  await box.waitFor({ state: "detached" });
  await go(page, `#/sessions/${session.id}`);
  await becomes(() => box.inputValue(), "ten minutes of words");
});

test("a log-in link that was cut in the middle opens the log-in page with the reason", async () => {
  const page = await stranger();
  await page.goto(`${hub.url}/#login=%`);
  await page
    .getByRole("heading", { name: /Log in/ })
    .or(page.getByRole("alert"))
    .first()
    .waitFor();
  assert.match(page.url(), /#\/inbox$/);
});
