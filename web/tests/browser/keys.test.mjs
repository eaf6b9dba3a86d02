// Nobody answers by accident: what keys and clicks do to the question on the screen. The rule is tests/keys.json; here it meets a real browser.

import assert from "node:assert/strict";
import { test } from "node:test";

import { texts } from "./hub.mjs";
import { AUTH, FEATURES, PERMISSION, PLAN } from "./samples.mjs";
import { becomes, hub, quiet, ready, receipt, sending, someone, stage, startMock, until } from "./stage.mjs";

stage();

const LONG_PLAN = {
  ...PLAN,
  body: { format: "markdown", text: Array.from({ length: 60 }, (_, i) => `${i + 1}. step`).join("\n") },
};
const SHORT_PLAN = { ...PLAN, body: { format: "markdown", text: "1. one\n2. two" } };

const status = async ({ id }) => (await hub.question(id)).status;
const answers = async ({ id }) => texts((await hub.question(id)).outcome?.answers ?? []);
const at = (page, { id }) => page.goto(`${hub.url}/#/inbox/${id}`);
const accepted = (page) => page.getByRole("heading", { name: "Your answer was accepted" }).waitFor();
const press = async (page, ...keys) => {
  for (const key of keys) await page.keyboard.press(key);
};

for (const gap of [60, 250, 600, 1500]) {
  test(`a plan of 60 lines that follows a question is not approved by Enters ${gap} ms apart`, async () => {
    const [first, plan] = [await hub.ask(AUTH), await hub.ask(LONG_PLAN)];
    const page = await someone();
    await at(page, first);
    await ready(page);
    const sent = sending(page);
    await press(page, "1", "Enter");
    await receipt(page, first);
    for (let i = 0; i < 4; i += 1) {
      await press(page, "Enter");
      await page.waitForTimeout(gap);
    }
    await page.getByRole("heading", { name: "Claude Code has a plan" }).waitFor();
    await quiet(page);
    assert.equal(await status(plan), "requested");
    assert.deepEqual([await answers(first), sent.length], [[["JWT"]], 1]);
  });
}

test("a plan that is opened by its address takes no Enter, held or not, before approval was picked and the end was on the screen", async () => {
  const plan = await hub.ask(LONG_PLAN);
  const page = await someone();
  const sent = sending(page);
  await at(page, plan);
  await page.locator("article [data-text]:focus").waitFor();
  await press(page, "Enter");
  await ready(page);
  for (let i = 0; i < 8; i += 1) await page.keyboard.down("Enter");
  await page.keyboard.up("Enter");
  await press(page, "Enter", "1", "Enter");
  const told = page.locator("article").getByText("Read the plan to its end first.");
  await told.waitFor();
  await page.getByRole("button", { name: /^Approve/ }).click({ force: true });
  await press(page, "Control+Enter");
  await quiet(page);
  assert.deepEqual([await status(plan), sent], ["requested", []]);
  await page.locator("article [data-end]").scrollIntoViewIfNeeded();
  await told.waitFor({ state: "detached" });
  await page.locator("article [data-text]").focus();
  await press(page, "Enter");
  await page.locator("article").getByText("Press 1, then Enter, to approve.").waitFor();
  assert.deepEqual(sent, []);
  await press(page, "1", "Enter");
  await accepted(page);
  assert.deepEqual(await answers(plan), [["approve"]]);
});

test("a plan that fits is read when it was drawn for a second; then Enter approves it on the button that was reached by Tab", async () => {
  const plan = await hub.ask(SHORT_PLAN);
  const page = await someone();
  await at(page, plan);
  await ready(page);
  const button = page.getByRole("button", { name: /^Approve/ });
  await becomes(() => button.getAttribute("aria-disabled"), "false");
  for (let i = 0; i < 12 && !(await button.evaluate((one) => one === document.activeElement)); i += 1)
    await press(page, "Tab");
  await press(page, "Enter");
  await accepted(page);
  assert.deepEqual(await answers(plan), [["approve"]]);
});

test("1 Enter and, after the half second, 2 Enter answer two questions; what falls into it is dropped and not kept", async () => {
  const [first, second] = [await hub.ask(AUTH), await hub.ask(AUTH)];
  const page = await someone();
  await at(page, first);
  await ready(page);
  const sent = sending(page);
  // The keys of the half second, in the same moment in which the next question is drawn.
  await page.evaluate((id) => {
    new MutationObserver((_, watch) => {
      const here =
        document.querySelector(`[data-receipt="${id}"]`) &&
        document.querySelector("article:not([data-ready]) [data-option]");
      if (!here) return;
      watch.disconnect();
      for (const key of ["2", "Enter", "s"])
        document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    }).observe(document.body, { childList: true, subtree: true });
  }, first.id);
  await press(page, "1", "Enter");
  await receipt(page, first);
  assert.ok(page.url().endsWith(second.id), "the next question has come by itself");
  await ready(page);
  await quiet(page);
  assert.deepEqual(
    [await page.locator("article .option.picked").count(), await status(second), sent.length],
    [0, "requested", 1],
  );
  await press(page, "2", "Enter");
  await accepted(page);
  assert.deepEqual([await answers(first), await answers(second)], [[["JWT"]], [["Sessions"]]]);
  await receipt(page, first);
});

test("1 Enter and, 600 ms later, 2 Enter and, 600 ms later, 1 Enter answer three questions, and the receipt owns no key", async () => {
  const asked = [await hub.ask(AUTH), await hub.ask(AUTH), await hub.ask(AUTH)];
  const page = await someone();
  await at(page, asked[0]);
  await ready(page);
  await press(page, "1", "Enter");
  await receipt(page, asked[0]);
  assert.equal(
    await page.evaluate(() => document.activeElement.matches("article [data-text]")),
    true,
    "the focus is on the next question's text",
  );
  await page.waitForTimeout(600);
  await press(page, "2", "Enter");
  await receipt(page, asked[1]);
  await page.waitForTimeout(600);
  await press(page, "1", "Enter");
  await accepted(page);
  assert.deepEqual(await Promise.all(asked.map(answers)), [[["JWT"]], [["Sessions"]], [["JWT"]]]);
  // None is left: the outcome stays, and Enter leaves it.
  await press(page, "Enter");
  await page.getByRole("button", { name: "Let the demo ask something" }).waitFor();
});

test("the receipt of the answer before tells its delivery without moving the question below it", async () => {
  const session = await startMock("question");
  const first = await until(
    async () => (await hub.call("GET", `/v1/questions?session=${session.id}&status=requested`)).questions[0],
    "the agent's question",
  );
  const second = await hub.ask(AUTH);
  const page = await someone();
  await at(page, first);
  await ready(page);
  let release;
  const held = new Promise((go) => (release = go));
  await page.route("**/v1/events*", async (route) => {
    await held;
    await route.continue().catch(() => undefined);
  });
  await press(page, "1", "Enter");
  await receipt(page, first);
  assert.ok(page.url().endsWith(second.id));
  const top = () => page.locator("article").evaluate((one) => one.getBoundingClientRect().top);
  const before = await top();
  release();
  await page.locator(`[data-receipt="${first.id}"]`).getByText("Confirmed").waitFor();
  assert.equal(await top(), before);
  await page.getByRole("link", { name: "Show it" }).click();
  await accepted(page);
  await hub.call("DELETE", `/v1/sessions/${session.id}`);
});

test("a click that was on its way when the question came up hits nothing", async () => {
  const first = await hub.ask(AUTH);
  const plan = await hub.ask(SHORT_PLAN);
  const page = await someone();
  await at(page, first);
  await ready(page);
  const sent = sending(page);
  // A hand that clicks on where Approve will be, all the time.
  await page.evaluate((hash) => {
    location.hash = hash;
    const end = performance.now() + 450;
    const click = () => {
      document.querySelector("article [data-submit]")?.click();
      if (performance.now() < end) requestAnimationFrame(click);
    };
    click();
  }, `#/inbox/${plan.id}`);
  await page.getByRole("heading", { name: "Claude Code has a plan" }).waitFor();
  await page.locator("article [data-submit]").click({ force: true, noWaitAfter: true });
  await quiet(page);
  assert.deepEqual([await status(plan), sent], ["requested", []]);
});

test("after a click on a row of the list, 2 and Enter submit the second option", async () => {
  await hub.ask(PERMISSION);
  const second = await hub.ask(AUTH);
  const page = await someone();
  await page.locator(`[data-id="${second.id}"]`).click();
  await page.locator("article").getByText("Which auth method").waitFor();
  await ready(page);
  await press(page, "2", "Enter");
  await receipt(page, second);
  assert.deepEqual(await answers(second), [["Sessions"]]);
});

test("nothing is pre-selected: what the asker suggests is marked, and no Enter sends it", async () => {
  const asked = await hub.ask({ ...AUTH, questions: [{ ...AUTH.questions[0], default: ["Sessions"] }] });
  const page = await someone();
  await at(page, asked);
  await ready(page);
  const sent = sending(page);
  await page.getByText("(suggested)").waitFor();
  assert.equal(await page.getByRole("radio", { checked: true }).count(), 0);
  for (let i = 0; i < 4; i += 1) {
    await press(page, "Enter");
    await page.waitForTimeout(200);
  }
  await quiet(page);
  assert.deepEqual([await status(asked), sent], ["requested", []]);
});

test("1 and four Enters at 150 ms answer one question, and the next with nothing at all", async () => {
  const [first, second] = [await hub.ask(AUTH), await hub.ask(AUTH)];
  const page = await someone();
  await at(page, first);
  await ready(page);
  for (const key of ["1", "Enter", "Enter", "Enter", "Enter"]) {
    await press(page, key);
    await page.waitForTimeout(150);
  }
  await quiet(page);
  assert.deepEqual([await answers(first), await status(second)], [[["JWT"]], "requested"]);
});

test("a double click on Submit sends nothing that was not confirmed, and a partial answer goes by a second, later Submit", async () => {
  const asked = await hub.ask(FEATURES);
  const page = await someone();
  await at(page, asked);
  await ready(page);
  const sent = sending(page);
  await page.getByRole("button", { name: /^Submit/ }).dblclick();
  await page.getByText("Nothing is answered yet.").waitFor();
  await page.getByRole("checkbox", { name: /i18n/ }).check();
  await page.getByRole("button", { name: /^Submit/ }).dblclick();
  await page.getByText("2 of 3 are not answered.").waitFor();
  await press(page, "Enter", "Enter");
  await quiet(page);
  assert.deepEqual([await status(asked), sent], ["requested", []]);
  await page.getByRole("button", { name: /^Submit without the rest/ }).click();
  await accepted(page);
  assert.deepEqual(await answers(asked), [["i18n"], [], []]);
});

test("Enter on a row that was reached by Tab opens that row's question, and the next Enter answers nothing", async () => {
  const [plan, other] = [await hub.ask(SHORT_PLAN), await hub.ask({ ...AUTH, context: PLAN.context })];
  const page = await someone();
  await ready(page);
  const sent = sending(page);
  await page.locator(`[data-id="${other.id}"]`).focus();
  await press(page, "1");
  await quiet(page);
  assert.equal(
    await page.locator("article .picked").count(),
    0,
    "keys on another row do not touch the question on the screen",
  );
  await press(page, "Enter");
  await page.locator("article").getByText("Which auth method").waitFor();
  await ready(page);
  await press(page, "Enter");
  await quiet(page);
  assert.deepEqual([await status(plan), await status(other), sent], ["requested", "requested", []]);
});

test("when the focused row goes away, settled elsewhere or scrolled away, the list has the focus and no key answers what is on the screen", async () => {
  const asked = [];
  for (let i = 0; i < 40; i += 1) asked.push(await hub.ask(AUTH));
  const page = await someone();
  await ready(page);
  const sent = sending(page);
  const inList = () => page.evaluate(() => document.activeElement.matches("[data-list] .scroller"));
  await page.locator(`[data-id="${asked[2].id}"]`).focus();
  await hub.reply(asked[2].id, [["JWT"]]);
  await becomes(inList, true);
  await press(page, "1", "Enter");
  await page.locator(`[data-id="${asked[3].id}"]`).focus();
  await page.locator(".scroller").evaluate((box) => (box.scrollTop = box.scrollHeight));
  await becomes(inList, true);
  await press(page, "1", "Enter");
  await quiet(page);
  assert.deepEqual([await status(asked[0]), sent], ["requested", []]);
  assert.equal(await page.locator("article .picked").count(), 0);
});

for (const rate of [1, 6]) {
  test(`keys after J act on the question that J shows, with the processor slowed down ${rate} times`, async () => {
    const [first, second] = [await hub.ask(AUTH), await hub.ask(AUTH)];
    const page = await someone();
    await at(page, first);
    await ready(page);
    const cdp = await page.context().newCDPSession(page);
    await cdp.send("Emulation.setCPUThrottlingRate", { rate });
    // All at once, so that they wait in the browser's queue while the page works.
    await Promise.all(["J", "1", "Enter"].map((key) => page.keyboard.press(key)));
    await quiet(page);
    assert.deepEqual(
      [await status(first), await status(second)],
      ["requested", "requested"],
      "the first half second takes nothing",
    );
    await ready(page);
    await press(page, "2", "Enter");
    await receipt(page, second);
    assert.deepEqual([await status(first), await answers(second)], ["requested", [["Sessions"]]]);
    // And a plan is not approved by the Enters that follow.
    const plan = await hub.ask(LONG_PLAN);
    await page.locator(`[data-id="${plan.id}"]`).waitFor();
    await at(page, plan);
    await page.getByRole("heading", { name: "Claude Code has a plan" }).waitFor();
    for (const gap of [60, 250, 600]) {
      await press(page, "Enter");
      await page.waitForTimeout(gap);
    }
    await quiet(page);
    assert.equal(await status(plan), "requested");
  });
}

test("Enter outside of the question, in the settings or in the history, answers nothing and leads nowhere", async () => {
  const old = await hub.ask(AUTH);
  await hub.reply(old.id, [["JWT"]]);
  const asked = await hub.ask(AUTH);
  const page = await someone();
  await at(page, asked);
  await ready(page);
  await press(page, "1");
  const sent = sending(page);
  await page.locator('summary[aria-label="Settings"]').click();
  await page.getByRole("checkbox", { name: "With a sound" }).focus();
  await press(page, "Enter");
  await page.goto(`${hub.url}/#/history/${old.id}`);
  await page.getByRole("heading", { name: /^Answered by/ }).waitFor();
  await press(page, "Enter", "Enter");
  await quiet(page);
  assert.ok(page.url().endsWith(old.id));
  assert.deepEqual([await status(asked), sent], ["requested", []]);
});

test("a plan with an option of its own is answered with that option", async () => {
  const plan = await hub.ask({
    ...SHORT_PLAN,
    questions: [{ question: "ok?", custom: false, options: [{ label: "Proceed", value: "proceed" }] }],
  });
  const page = await someone();
  await page.getByRole("button", { name: /^Proceed/ }).click();
  await accepted(page);
  assert.deepEqual(await answers(plan), [["proceed"]]);
});

test("s, Escape and Enter do not send a plan back without a word", async () => {
  const plan = await hub.ask(SHORT_PLAN);
  const page = await someone();
  await ready(page);
  const sent = sending(page);
  await press(page, "s");
  await page.locator("article textarea:focus").waitFor();
  await press(page, "Escape", "Enter", "Control+Enter", "Enter");
  await quiet(page);
  assert.deepEqual([await status(plan), sent], ["requested", []]);
});

const approval = (page) => page.getByRole("button", { name: /^Approve/ });
const approvable = (page) => becomes(() => approval(page).getAttribute("aria-disabled"), "false");

test("editing a plan approves nothing: e, x, Escape and Enter do not send it, nor does a pick from before the edit", async () => {
  const plan = await hub.ask(SHORT_PLAN);
  const page = await someone();
  await at(page, plan);
  await approvable(page);
  const sent = sending(page);
  const editor = page.getByRole("textbox", { name: "The plan, as you want it" });
  await press(page, "e");
  await page.locator("article textarea:focus").waitFor();
  await press(page, "x", "Escape", "Enter");
  await page.locator("article").getByText("Press 1, then Enter, to approve.").waitFor();
  await press(page, "1");
  await page.locator("article [data-chosen]").waitFor();
  await editor.focus();
  await press(page, "y", "Escape", "Enter");
  await quiet(page);
  assert.deepEqual([await status(plan), sent], ["requested", []]);
  await press(page, "1", "Enter");
  await accepted(page);
  assert.deepEqual(await answers(plan), [["approve"]]);
});

test("an editor whose last line comes up has shown the plan only after half a second", async () => {
  const plan = await hub.ask(LONG_PLAN);
  const page = await someone();
  await at(page, plan);
  await ready(page);
  const sent = sending(page);
  await page.getByRole("button", { name: /^Edit first/ }).click();
  await page.locator("article textarea:focus").waitFor();
  await page.locator("article textarea").evaluate((editor) => {
    editor.scrollTop = editor.scrollHeight;
    editor.scrollIntoView({ block: "center" });
    const end = performance.now() + 400;
    return new Promise((done) => {
      const click = () => {
        document.querySelector("article [data-submit]").click();
        if (performance.now() < end) requestAnimationFrame(click);
        else done();
      };
      click();
    });
  });
  await quiet(page);
  assert.deepEqual([await status(plan), sent], ["requested", []]);
  await approvable(page);
});

for (const [property, hidden] of [
  ["display", "none"],
  ["visibility", "hidden"],
  ["opacity", "0"],
]) {
  test(`a question that was hidden by ${property} takes no input when it comes up again, and a short plan is not read yet`, async () => {
    const [asked, plan] = [await hub.ask(AUTH), await hub.ask(SHORT_PLAN)];
    const page = await someone();
    const sent = sending(page);
    const hide = async () => {
      await page.evaluate(
        ([property, hidden]) => (document.querySelector("main").style[property] = hidden),
        [property, hidden],
      );
      await page.locator("article:not([data-ready])").waitFor({ state: "attached" });
    };
    await at(page, asked);
    await ready(page);
    await hide();
    await page.evaluate(async (property) => {
      document.querySelector("main").style[property] = "";
      await new Promise((next) => requestAnimationFrame(next));
      document.querySelector("article [data-option]").click();
      document.querySelector("article [data-submit]").click();
      document.querySelector("article [data-text]").focus();
      // As the keyboard sends them, without the time that a driver takes.
      for (const key of ["1", "Enter"])
        document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    }, property);
    await quiet(page);
    assert.deepEqual([await status(asked), sent], ["requested", []]);
    await at(page, plan);
    await approvable(page);
    await hide();
    await page.evaluate(async (property) => {
      document.querySelector("main").style[property] = "";
      for (let i = 0; i < 2; i += 1) await new Promise((next) => requestAnimationFrame(next));
      document.querySelector("article [data-submit]").click();
    }, property);
    await quiet(page);
    assert.deepEqual([await status(plan), sent], ["requested", []]);
    await approvable(page);
    await approval(page).click();
    await receipt(page, plan);
  });
}

test("the end of a plan that lies outside of what is zoomed to was not seen", async () => {
  const plan = await hub.ask({
    ...PLAN,
    nextModes: [],
    body: { format: "markdown", text: Array.from({ length: 14 }, (_, i) => `${i + 1}. step`).join("\n") },
  });
  const page = await someone({ viewport: { width: 800, height: 900 } });
  const sent = sending(page);
  await page.goto(`${hub.url}/#/history`);
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("Emulation.setPageScaleFactor", { pageScaleFactor: 4 });
  await page.waitForFunction(() => visualViewport.height < 300);
  await page.evaluate((id) => (location.hash = `#/inbox/${id}`), plan.id);
  await ready(page);
  // A plan that fits would be read by now.
  await page.waitForTimeout(1300);
  await press(page, "1", "Enter");
  await page.locator("article").getByText("Read the plan to its end first.").waitFor();
  await quiet(page);
  assert.deepEqual([await status(plan), sent], ["requested", []]);
  await cdp.send("Emulation.setPageScaleFactor", { pageScaleFactor: 1 });
  await approvable(page);
});

test("the end of a plan that lies behind the buttons was not seen, also when they grew with a narrower window", async () => {
  const plan = await hub.ask(LONG_PLAN);
  const page = await someone({ viewport: { width: 1280, height: 700 } });
  await at(page, plan);
  await ready(page);
  await page.setViewportSize({ width: 320, height: 480 });
  const ends = () =>
    page.evaluate(() => {
      const [end, footer] = ["[data-end]", "footer.actions"].map((name) =>
        document.querySelector(`article ${name}`).getBoundingClientRect(),
      );
      return { end: end.top, top: footer.top, bottom: footer.bottom };
    });
  await page.locator("article").evaluate((article) => {
    let box = article;
    while (!/auto|scroll/.test(getComputedStyle(box).overflowY)) box = box.parentElement;
    const top = (name) => article.querySelector(name).getBoundingClientRect().top;
    for (let i = 0; i < 3; i += 1) box.scrollTop += top("[data-end]") - top("footer.actions") - 8;
  });
  const { end, top, bottom } = await ends();
  assert.ok(end > top && end < bottom, `behind the buttons: ${end}, ${top} to ${bottom}`);
  await page.waitForTimeout(1300);
  assert.equal(await approval(page).getAttribute("aria-disabled"), "true");
  await page.locator("article [data-end]").evaluate((end) => end.scrollIntoView({ block: "center" }));
  await approvable(page);
});

test("after 1 on a plan Space scrolls and does not approve, and Enter does", async () => {
  const plan = await hub.ask(SHORT_PLAN);
  const page = await someone();
  await at(page, plan);
  await approvable(page);
  const sent = sending(page);
  await press(page, "1", " ");
  await page.locator("article").getByText("Approval is picked. Enter sends it.").waitFor();
  await quiet(page);
  assert.deepEqual([await status(plan), sent], ["requested", []]);
  await press(page, "Enter");
  await accepted(page);
});

test("own words that were left by Escape are not sent by the next Enter, but by Enter in their field", async () => {
  const asked = await hub.ask(AUTH);
  const page = await someone();
  await at(page, asked);
  await ready(page);
  const sent = sending(page);
  await press(page, "o");
  await page.keyboard.type("half an ans");
  await press(page, "Escape", "Enter", "Enter");
  await page.locator("article").getByText("You left your own words.").waitFor();
  await quiet(page);
  assert.deepEqual([await status(asked), sent], ["requested", []]);
  await press(page, "o");
  await page.keyboard.type("wer");
  await press(page, "Enter");
  await accepted(page);
  assert.deepEqual(await answers(asked), [["half an answer"]]);
});

/** Random numbers that a seed repeats. */
function dice(seed) {
  let state = seed;
  return (sides) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (state >>> 8) % sides;
  };
}

/** The steps of a walk. An idle machine takes a fraction of the time; on a busy one it may end before the last step, not before the least. */
const WALK = { steps: 2000, least: 1000, ms: 300_000 };

/** The question on the screen takes input, or has ended (at once perhaps, and then it never does), or there is none. */
const attentive = (page) =>
  page.waitForFunction(
    () => !document.querySelector("article:not([data-ready]):not(:has([data-outcome]))"),
    undefined,
    { polling: 20 },
  );

test("a random walk of keys over a changing list: every question that the page settled was on the screen, and picked there, when its key was pressed", async (context) => {
  // The same walk in every run; another one by its seed.
  const seed = Number(process.env.ASKD_WALK_SEED ?? 4711);
  context.diagnostic(`ASKD_WALK_SEED=${seed}`);
  const roll = dice(seed);
  const samples = [AUTH, PERMISSION, SHORT_PLAN, LONG_PLAN, FEATURES];
  const ask = () => hub.ask(samples[roll(samples.length)]);
  for (let i = 0; i < 8; i += 1) await ask();
  const page = await someone();
  // What a person saw at the moment of each key, before the page reacted to it; and which key was the last before each answer.
  await page.addInitScript(() => {
    window.answered = [];
    const see = (key) => {
      const box = document.querySelector("article");
      const labels = [...(box?.querySelectorAll(".option.picked .label") ?? [])].map((one) => one.textContent);
      const id = location.hash.split("/")[2] ?? document.querySelector('[data-id][aria-current="true"]')?.dataset.id;
      // The button that approves has the focus, or is shown as picked by its key.
      const onSend =
        document.activeElement?.matches("[data-submit]") ||
        document.querySelector("[data-submit][data-chosen]") !== null;
      const onButton = document.activeElement?.matches("article button") ?? false;
      return { key, id, onButton, ready: box?.dataset.ready !== undefined, labels, onSend };
    };
    let last = null;
    addEventListener("keydown", ({ key }) => (last = see(key)), true);
    const real = window.fetch;
    window.fetch = (url, init) => {
      const id = /questions\/(que_\w+)\/(?:reply|reject)$/.exec(String(url?.url ?? url))?.[1];
      if (id) window.answered.push({ id, body: JSON.parse(init.body), last });
      return real(url, init);
    };
  });
  await page.reload();
  await ready(page);
  const keys = [
    "1",
    "2",
    "3",
    "Enter",
    "Enter",
    "Enter",
    "j",
    "k",
    "J",
    "K",
    "h",
    "l",
    "s",
    "Escape",
    "Tab",
    "Tab",
    "Shift+Tab",
    "ArrowDown",
    "ArrowRight",
    "n",
    "e",
    " ",
    "Control+Enter",
  ];
  const began = Date.now();
  let steps = 0;
  for (; steps < WALK.steps && Date.now() < began + WALK.ms; steps += 1) {
    const chance = roll(40);
    if (chance === 0) await ask();
    else if (chance === 1) {
      const { questions } = await hub.call("GET", "/v1/questions?status=requested");
      const one = questions[roll(questions.length || 1)];
      if (one) await hub.call("POST", `/v1/questions/${one.id}/withdraw`, {}).catch(() => undefined);
    } else if (chance < 4) await attentive(page);
    else if (chance < 6) {
      // A person who knows what he does, from wherever the walk has led.
      await press(page, "Escape", "Escape", roll(2) ? "J" : "K");
      await attentive(page);
      await press(page, "1", "Enter");
    } else await press(page, keys[roll(keys.length)]);
    if (steps % 40 === 0) {
      const { questions } = await hub.call("GET", "/v1/questions?status=requested");
      for (let i = questions.length; i < 6; i += 1) await ask();
    }
  }
  await quiet(page);
  const answered = await page.evaluate(() => window.answered);
  context.diagnostic(`${steps} steps in ${Date.now() - began} ms, ${answered.length} answers`);
  assert.ok(steps >= WALK.least, `${steps} of at least ${WALK.least} steps`);
  for (const { id, body, last } of answered) {
    const { questions, kind } = await hub.question(id);
    const labels = (body.answers ?? [])
      .flatMap(({ picks }, i) =>
        picks.map((value) => questions[i].options.find((option) => option.value === value)?.label),
      )
      .filter(Boolean);
    const told = `${JSON.stringify({ id, body, last, labels })} (seed ${seed})`;
    // Space on a button is a click of a person who has put the focus there.
    assert.ok(last.key === "Enter" || last.key === " ", told);
    assert.ok(last.id === id && last.ready, told);
    // A refusal goes by its own button only, and a plan by the button that approves it.
    if (body.mode) assert.ok(last.onButton, told);
    else if (kind === "plan") assert.ok(last.onSend, told);
    else
      assert.deepEqual(
        labels.filter((label) => !last.labels.includes(label)),
        [],
        told,
      );
  }
  assert.ok(answered.length > 0, `the walk answers something (seed ${seed})`);
});
