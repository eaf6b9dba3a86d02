// askd/react in the real React, by the example that the documents name.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, beforeEach, test } from "node:test";

import { rolldown } from "rolldown";

import { foreignPages, SDK } from "./foreign.mjs";
import { texts } from "./hub.mjs";
import { AUTH, FEATURES, PERMISSION } from "./samples.mjs";
import { becomes, hub, stage, stranger } from "./stage.mjs";

let server;
let origin;
let page;

foreignPages();
before(async () => {
  const own = ["index", "react"].map((name) => [name === "index" ? "askd" : `askd/${name}`, `${SDK}dist/${name}.js`]);
  const bundle = await rolldown({
    input: `${SDK}examples/react/main.jsx`,
    // The longer name first: the other one is its beginning.
    resolve: { alias: Object.fromEntries(own.reverse()), modules: [`${SDK}node_modules`] },
    transform: { jsx: "react-jsx", define: { "process.env.NODE_ENV": '"production"' } },
  });
  const { output } = await bundle.generate({ codeSplitting: false });
  const html =
    '<!doctype html><html lang=en><title>chat</title><main id=chat></main><script type=module src="/main.js"></script></html>';
  server = createServer((request, response) => {
    const isCode = request.url === "/main.js";
    response
      .writeHead(200, { "content-type": isCode ? "text/javascript" : "text/html" })
      .end(isCode ? output[0].code : html);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  origin = `http://127.0.0.1:${server.address().port}`;
});
after(() => {
  server.close();
  server.closeAllConnections();
});
stage({ hubArgs: () => ["--allow-origin", origin] });
beforeEach(async () => (page = await stranger()));

const open = (more = {}) => page.goto(`${origin}/#${new URLSearchParams({ hub: hub.url, token: hub.token, ...more })}`);

test("questions come into a chat of React, are answered there, stay as summaries, and keep what was typed when they move", async () => {
  await open();
  await page.getByText("0 open, 0 settled, live").waitFor();
  const first = await hub.ask(AUTH);
  const second = await hub.ask(FEATURES);
  await page.getByText("2 open, 0 settled, live").waitFor();
  await page.getByRole("textbox", { name: /What shall it be called/ }).fill("Plog");
  await page.getByRole("button", { name: "Turn around" }).click();
  assert.equal(await page.locator("askd-question").first().getAttribute("question-id"), second.id);
  assert.equal(await page.getByRole("textbox", { name: /What shall it be called/ }).inputValue(), "Plog");
  const auth = page.locator(`askd-question[question-id="${first.id}"]`);
  await auth.scrollIntoViewIfNeeded();
  await auth.getByRole("radio", { name: /JWT/ }).check();
  await auth.getByRole("button", { name: "Submit" }).click();
  await page.getByText("1 open, 1 settled, live").waitFor();
  await auth.getByText("Answered by you").waitFor();
  assert.deepEqual(texts((await hub.question(first.id)).outcome.answers), [["JWT"]]);
});

test("a kind has the page's own part, in one tap", async () => {
  const { id } = await hub.ask(PERMISSION);
  await open();
  await page.getByText("rm -rf ./node_modules").waitFor();
  assert.equal(await page.locator("askd-question").count(), 0);
  await page.getByRole("button", { name: "Yes, once" }).click();
  await page.getByText("May I run this command? Yes, once").waitFor();
  assert.deepEqual(texts((await hub.question(id)).outcome.answers), [["allow_once"]]);
});

test("useQuestion finds a call before its question is there, keeps the draft, and tells what became of it", async () => {
  await open({ call: "toolu_9" });
  await page.getByText("The agent is thinking…").waitFor();
  const { id } = await hub.ask({ tool: { callId: "toolu_9" }, questions: [{ question: "What colour?" }] });
  const form = page.locator("form");
  await form.getByLabel("What colour?").fill("Blue");
  await form.getByRole("button", { name: "Send" }).click();
  await page.getByText("toolu_9 is settled").waitFor();
  await becomes(async () => texts((await hub.question(id)).outcome.answers), [["Blue"]]);
});
