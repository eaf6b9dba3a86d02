// What surrounds answering: many questions, hostile text, keys only, a phone, screen readers, real agents.

import assert from "node:assert/strict";
import { test } from "node:test";

import { shot, violations, whyNotInstallable } from "./browser.mjs";
import { AUTH, DIFF, FEATURES, FORM, LAYOUT, PERMISSION, PLAN } from "./samples.mjs";
import { texts } from "./hub.mjs";
import { becomes, hub, ready, receipt, someone, stage, startMock, until } from "./stage.mjs";

const PHONE = { viewport: { width: 360, height: 720 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2 };

stage();

async function askMany(count) {
  const one = (i) =>
    hub.ask({
      agent: ["claude", "codex", "opencode"][i % 3],
      context: { cwd: `/home/ada/p${i % 7}` },
      questions: [{ question: `Question number ${i}: which way?`, options: ["Left", "Right"] }],
    });
  const asked = [];
  for (let i = 0; i < count; i += 50)
    asked.push(...(await Promise.all(Array.from({ length: Math.min(50, count - i) }, (_, j) => one(i + j)))));
  return asked;
}

test("the picture of the README", async () => {
  const asked = [];
  for (const sample of [AUTH, LAYOUT, PLAN, FEATURES, PERMISSION, DIFF, FORM]) asked.push(await hub.ask(sample));
  const page = await someone({ viewport: { width: 1200, height: 720 } });
  await page.clock.setSystemTime(Date.now() + 6 * 60_000);
  await page.goto(`${hub.url}/#/inbox/${asked[1].id}`);
  await page.getByRole("radio", { name: /Command palette/ }).check();
  await page.getByText(/waiting 6 min/).waitFor();
  await page.mouse.move(0, 0);
  await shot(page, "readme");
});

test("500 open questions load at once, stay few in the page, scroll to the end and answer", async () => {
  const asked = await askMany(500);
  const page = await someone();
  await page.getByRole("heading", { name: "500 questions" }).waitFor();
  const oldest = await page.locator("[data-id]").first().getAttribute("data-id");
  assert.ok((await page.locator("[data-id]").count()) < 60, "only rows in view exist");
  await page.locator(".scroller").evaluate((box) => (box.scrollTop = box.scrollHeight));
  await page.locator(`[data-id="${oldest}"]`).waitFor({ state: "detached" });
  assert.ok((await page.locator("[data-id]").count()) < 60, "rows that are out of view are gone");
  const last = await page.locator("[data-id]").last().getAttribute("data-id");
  await page.locator(`[data-id="${last}"]`).click();
  await page
    .locator("article")
    .getByText(asked.find(({ id }) => id === last).questions[0].question)
    .waitFor();
  await ready(page);
  await page.keyboard.press("1");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: /^Submit/ }).click();
  await page.getByRole("heading", { name: "499 questions" }).waitFor();
});

test("1,000 questions arrive live without a reload, and the page stays usable", async () => {
  const page = await someone();
  await askMany(1000);
  await page.getByRole("heading", { name: "1000 questions" }).waitFor({ timeout: 90_000 });
  await becomes(() => page.title(), "(999+) askd");
});

test("hostile text is shown as text: no script, handler, javascript link, foreign request or terminal escape works", async () => {
  const evil =
    '<script>window.pwned=1</script><img src=x onerror="window.pwned=2"><svg onload="window.pwned=3"> [click](javascript:window.pwned=4) ![x](https://evil.example/track.png) \u001b[2J\u001b]0;pwned\u0007 \u202egnp.exe';
  const { id } = await hub.ask({
    agent: "claude",
    context: { cwd: `/tmp/${evil}`, title: evil, excerpt: evil, host: evil },
    body: {
      format: "markdown",
      text: `${evil}\n\n\`\`\`html\n${evil}\n\`\`\`\n\n<details open ontoggle="window.pwned=5">x</details>\n\n<iframe src="https://evil.example"></iframe>\n\n[a]: javascript:alert(1)\n[ref][a]`,
    },
    questions: [
      {
        header: evil,
        question: evil,
        options: [{ label: evil, value: evil, description: evil, preview: `# ${evil}` }, { label: "fine" }],
      },
      { question: "go", input: "url", url: "javascript:window.pwned=6" },
    ],
  });
  const page = await someone();
  const foreign = [];
  page.on("request", (request) => {
    if (!request.url().startsWith(hub.url) && !request.url().startsWith("data:")) foreign.push(request.url());
  });
  await page.getByText("asks").first().waitFor();
  for (const summary of await page.locator("article summary").all()) await summary.click();
  await page.locator("[data-option]").first().check();
  await page.getByRole("button", { name: /^Next/ }).click();
  await page.waitForTimeout(300);
  await shot(page, "hostile");
  assert.equal(await page.evaluate(() => window.pwned), undefined);
  assert.deepEqual(foreign, []);
  assert.equal(
    await page
      .locator('a[href^="javascript" i], article script, article img, article iframe, article svg[onload]')
      .count(),
    0,
  );
  const text = await page.locator("body").innerText();
  assert.doesNotMatch(text, /\u001b|\u202e/);
  assert.match(text, /<img src=x onerror=/, "it is shown as what it is");
  await page.getByText("not a web page, so it is not a link").waitFor();
  await page.getByRole("radio", { name: "I opened it" }).check();
  await page.getByRole("button", { name: /^Next/ }).click();
  await page.getByRole("button", { name: /^Submit/ }).click();
  await page.getByRole("heading", { name: "Your answer was accepted" }).waitFor();
  assert.deepEqual(
    texts((await hub.question(id)).outcome.answers),
    [[evil], ["opened"]],
    "the answer carries the agent's own bytes",
  );
});

test("the list is grouped by project, by agent or not at all, and says who asks from where", async () => {
  for (const sample of [AUTH, FEATURES, PLAN]) await hub.ask(sample);
  const page = await someone();
  const list = page.getByRole("list", { name: "Open questions, oldest first" });
  const words = async (role) => (await list.getByRole(role).allInnerTexts()).map((text) => text.replace(/\s+/g, " "));
  const groups = () => words("heading");
  const rows = () => words("link");
  await becomes(groups, ["shop 2", "blog 1"]);
  assert.match((await rows())[0], /^C ?Claude Code · Add sign-in .* Which auth method should we use\? on laptop$/);
  await page.getByRole("combobox", { name: "Group by" }).selectOption("agent");
  await becomes(groups, ["Claude Code 2", "OpenCode 1"]);
  assert.match((await rows())[0], /shop on laptop$/);
  await page.getByRole("combobox", { name: "Group by" }).selectOption("none");
  await becomes(groups, []);
  assert.match((await rows())[1], /Which features do you want\?/, "oldest first");
  await page.reload();
  await list.getByRole("link").nth(2).waitFor();
  assert.deepEqual(await groups(), [], "the choice is remembered");
});

test("the page's policy forbids inline code, the fragment's code is gone from the address, and the page can be installed", async () => {
  const page = await someone();
  assert.doesNotMatch(page.url(), /login/);
  const response = await page.request.get(`${hub.url}/`);
  const policy = response.headers()["content-security-policy"];
  assert.match(policy, /default-src 'none'/);
  assert.doesNotMatch(policy, /unsafe|\*/);
  const asset = /src="(\/assets\/[^"]+)"/.exec(await response.text())[1];
  const script = await page.request.get(hub.url + asset);
  assert.match(script.headers()["cache-control"], /immutable/);
  assert.match(script.headers()["content-type"], /javascript/);
  for (const path of ["/manifest.webmanifest", "/sw.js", "/icon-192.png"])
    assert.equal((await page.request.get(hub.url + path)).status(), 200);
  assert.deepEqual(await whyNotInstallable(hub.url), []);
  assert.deepEqual(await whyNotInstallable(`${hub.url}/v1/health`), ["no-manifest"], "the browser does look");
});

test("keys alone: choose, move, write, submit and go on, with focus never stolen by a new question", async () => {
  const [first, second, third] = [await hub.ask(FEATURES), await hub.ask(AUTH), await hub.ask(PLAN)];
  const page = await someone();
  const press = async (...keys) => {
    for (const key of keys) await page.keyboard.press(key);
  };
  await ready(page);
  await press("1", "3", "l", "2", "l");
  await page.keyboard.type("Plog 1 j k o");
  const before = await page.evaluate(() => document.activeElement.tagName);
  await hub.ask(DIFF);
  await page.getByRole("heading", { name: "4 questions" }).waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.tagName), before, "focus stays");
  await press("Escape");
  assert.equal((await hub.question(first.id)).status, "requested", "Escape sends nothing");
  await press("h", "n");
  await page.locator("[data-note]:focus").waitFor();
  await page.keyboard.type("mine");
  await press("Control+Enter");
  await receipt(page, first);
  const given = (await hub.question(first.id)).outcome;
  assert.deepEqual(texts(given.answers), [["Dark mode", "Analytics"], ["Own server"], ["Plog 1 j k o"]]);
  assert.deepEqual(given.notes, [null, "mine", null]);

  await page.locator("article").getByText("Which auth method should we use?").waitFor();
  await ready(page);
  await press("j", "j", "k", "o");
  await page.keyboard.type("Passkeys");
  await press("Enter");
  await receipt(page, second);
  assert.deepEqual(texts((await hub.question(second.id)).outcome.answers), [["Passkeys"]]);

  await page.getByRole("heading", { name: "Claude Code has a plan" }).waitFor();
  await ready(page);
  await press("s");
  await page.locator("article textarea:focus").waitFor();
  await page.keyboard.type("no");
  await press("Escape", "Enter", "Escape", "Enter");
  assert.equal((await hub.question(third.id)).status, "requested", "neither sent back nor approved");
  await becomes(() => page.getByRole("button", { name: /^Approve/ }).getAttribute("aria-disabled"), "false");
  await press("1", "Enter");
  await receipt(page, third);
  assert.deepEqual(texts((await hub.question(third.id)).outcome.answers), [["approve"]]);

  await press("?");
  await page.getByRole("dialog").waitFor();
  await shot(page, "help");
  await press("Escape");
  await page.getByRole("dialog").waitFor({ state: "hidden" });
  // The second key must follow soon, which a busy machine does not promise.
  const goes = (key, place) =>
    until(async () => {
      await press("g", key);
      return page.url().includes(`#/${place}`);
    }, place);
  await goes("h", "history");
  await goes("i", "inbox");
  const letters = await hub.ask({
    questions: [{ question: "Which of many?", options: Array.from({ length: 12 }, (_, i) => `Way ${i + 1}`) }],
  });
  await page.goto(`${hub.url}/#/inbox/${letters.id}`);
  await page.getByRole("radio", { name: "Way 12" }).waitFor();
  await ready(page);
  await press("b");
  // After 9 come letters.
  await becomes(() => page.getByRole("radio", { name: "Way 11" }).isChecked(), true);
  await page.locator("[data-id]").first().focus();
  await press("j", "Enter");
  // Enter goes from the list into the question.
  await page.locator("article [data-text]:focus").waitFor();
});

test("a phone of 360 px: everything fits, targets are large, and the list and the question take turns", async () => {
  const asked = [];
  for (const sample of [LAYOUT, FORM, PLAN, PERMISSION, FEATURES]) asked.push(await hub.ask(sample));
  const page = await someone(PHONE);
  await page.getByRole("heading", { name: "5 questions" }).waitFor();
  await shot(page, "phone-list");
  for (const [i, { id }] of asked.entries()) {
    await page.goto(`${hub.url}/#/inbox/${id}`);
    await page.locator("article").waitFor();
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 360, `question ${i} is ${wide} px wide`);
    const small = await page
      .locator("article button:visible, article .option:visible, article input.input:visible")
      .evaluateAll((all) =>
        all.filter((one) => one.getBoundingClientRect().height < 43.5).map((one) => one.outerHTML.slice(0, 120)),
      );
    assert.deepEqual(small, [], "targets of 44 px");
    assert.deepEqual(await violations(page), [], `question ${i}`);
    await shot(page, `phone-${i}`);
  }
  const { id: session } = await startMock("question");
  for (const place of ["history", "sessions", `sessions/${session}`, "sources"]) {
    await page.goto(`${hub.url}/#/${place}`);
    await page.locator(place.includes("/") ? "article" : "h1").waitFor();
    const [wide, tall] = await page.evaluate(() => [
      document.documentElement.scrollWidth,
      document.querySelector("main header")?.clientHeight ?? 0,
    ]);
    assert.ok(wide <= 360 && tall < 120, `${place} is ${wide} px wide, its header ${tall} px high`);
    assert.deepEqual(await violations(page), [], place);
    await shot(page, `phone-${place.replace(/\/.*/, "-one")}`);
  }
  await hub.call("DELETE", `/v1/sessions/${session}`);
  await page.goto(`${hub.url}/#/inbox/${asked[3].id}`);
  await page.getByText("Yes, once").tap();
  await page.getByRole("button", { name: /^Submit/ }).tap();
  await receipt(page, asked[3]);
  await page.getByRole("link", { name: "All questions" }).tap();
  await page.getByRole("heading", { name: "4 questions" }).waitFor();
});

test("a phone shows the whole of a long question: nothing is cut, and every line and field can be scrolled to", async () => {
  const options = Array.from({ length: 60 }, (_, i) => `Way ${i + 1}`);
  const command = { format: "command", text: Array.from({ length: 80 }, (_, i) => `step ${i + 1}`).join("\n") };
  const long = [
    {
      ...PERMISSION,
      body: { format: "command", text: "rm -rf /srv/prod" },
      questions: [{ question: "May I?", options: options.slice(0, 8) }],
    },
    { ...PERMISSION, body: command },
    { ...PLAN, body: { format: "markdown", text: Array.from({ length: 80 }, (_, i) => `${i + 1}. step`).join("\n") } },
    {
      ...FORM,
      body: { format: "text", text: "Tell me about it" },
      questions: options.slice(0, 30).map((question) => ({ question, input: "text" })),
    },
    { questions: [{ question: "Which?", options }] },
  ];
  const page = await someone(PHONE);
  for (const [i, sample] of long.entries()) {
    const { id } = await hub.ask(sample);
    await page.goto(`${hub.url}/#/inbox/${id}`);
    await ready(page);
    const boxes = await page
      .locator("article, article section.body, article pre")
      .evaluateAll((all) => all.map((one) => [one.clientHeight, one.scrollHeight]));
    for (const [shown, whole] of boxes) assert.ok(shown >= whole, `question ${i} shows ${shown} of ${whole} px`);
    const last = page.locator("article pre, article .rendered li, article [data-option], article [data-field]").last();
    await last.evaluate((one) => one.scrollIntoView({ block: "center" }));
    const seen = await last.evaluate((one) => {
      const { x, y, width, height } = one.getBoundingClientRect();
      const top = document.elementFromPoint(x + width / 2, y + height / 2);
      return one.contains(top);
    });
    assert.ok(seen, `the end of question ${i} can be reached`);
    await shot(page, `phone-long-${i}`);
  }
});

test("another question is read from its beginning, however far the one before was scrolled", async () => {
  const long = await hub.ask({
    ...PLAN,
    body: { format: "markdown", text: Array.from({ length: 80 }, (_, i) => `${i + 1}. step`).join("\n") },
  });
  await hub.ask({
    ...DIFF,
    body: { format: "diff", text: Array.from({ length: 80 }, (_, i) => `+line ${i + 1}`).join("\n") },
  });
  const page = await someone();
  const scrolled = () => page.locator(".inbox > .main").evaluate((box) => box.scrollTop);
  await page.goto(`${hub.url}/#/inbox/${long.id}`);
  await page.locator("article [data-end]").scrollIntoViewIfNeeded();
  await until(async () => (await scrolled()) > 0, "the end of the plan");
  await page.getByRole("button", { name: /^Approve/ }).click();
  await page.getByRole("heading", { name: "OpenCode asks for permission" }).waitFor();
  await becomes(scrolled, 0);
});

for (const colorScheme of ["light", "dark"]) {
  test(`axe finds nothing to complain about in ${colorScheme}`, async () => {
    const asked = {};
    for (const [name, sample] of Object.entries({ AUTH, FEATURES, LAYOUT, PLAN, PERMISSION, DIFF, FORM }))
      asked[name] = (await hub.ask(sample)).id;
    await hub.reply(asked.AUTH, [["JWT"]]);
    const page = await someone({ colorScheme });
    for (const [name, id] of Object.entries(asked)) {
      await page.goto(`${hub.url}/#/inbox/${id}`);
      await page.locator("article").waitFor();
      assert.deepEqual(await violations(page), [], name);
      await shot(page, `${colorScheme}-${name.toLowerCase()}`);
    }
    await page.getByRole("button", { name: /Do not answer/ }).click();
    assert.deepEqual(await violations(page), [], "do not answer");
    for (const place of ["history", `history/${asked.AUTH}`, "sources", "sessions"]) {
      await page.goto(`${hub.url}/#/${place}`);
      await page
        .locator(place.includes("/") ? "article" : "h1")
        .first()
        .waitFor();
      assert.deepEqual(await violations(page), [], place);
      await shot(page, `${colorScheme}-${place.split("/").join("-").slice(0, 12)}`);
    }
    await page.evaluate(() => localStorage.clear());
    await page.goto(`${hub.url}/`);
    await page.reload();
    await page.getByRole("button", { name: "Log in" }).waitFor();
    assert.deepEqual(await violations(page), [], "log-in");
  });
}

test("the installed page opens while the hub is down, says so, and lives again when the hub does", async () => {
  const page = await someone();
  await page.evaluate(() => navigator.serviceWorker.ready);
  await hub.kill();
  await page.reload();
  await page.locator('[data-light="offline"]').waitFor();
  await page.getByText("The hub cannot be reached").first().waitFor();
  await hub.run();
  await page.locator('[data-light="live"]').waitFor();
  await page.getByText("No open questions").waitFor();
});

test("an agent that took another answer first: the page says what it got, and that ours was not delivered", async () => {
  const { id } = await hub.ask(AUTH);
  await hub.reply(id, [["JWT"]]);
  const settled = await hub.question(id);
  const page = await someone();
  // No agent here overtakes on demand, so the hub's words are changed on their way to the page.
  await page.route(`**/v1/questions/${id}`, (route) =>
    route.fulfill({
      json: {
        ...settled,
        sessionId: "ses_01M7FC76XEEDRBXYEGGZSWPBKH",
        outcome: {
          ...settled.outcome,
          agentReceived: { answers: [{ picks: ["Sessions"], labels: ["Sessions"], words: [] }], via: "terminal" },
        },
        delivery: {
          state: "failed",
          attempts: 1,
          error: { reason: "overtaken", detail: null },
          at: settled.outcome.at,
        },
      },
    }),
  );
  await page.goto(`${hub.url}/#/history/${id}`);
  await page.getByText("Claude Code got another answer").waitFor();
  await page.getByText("took another answer before this one arrived").waitFor();
  assert.match(await page.getByRole("alert").filter({ hasText: "another answer" }).innerText(), /Sessions/);
  await shot(page, "overtaken");
});

test("a browser that is not logged in says how to get in, and takes a pasted token", async () => {
  const page = await someone();
  await page.evaluate(() => localStorage.clear());
  await page.reload();
  await page.getByText("This browser is not logged in").waitFor();
  await page.getByLabel("Log-in link or token").fill("nonsense");
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("alert").waitFor();
  await page.getByLabel("Log-in link or token").fill(hub.token);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.locator('[data-light="live"]').waitFor();
});
