// Being told: notifications and the sound. Headless Chromium has no desktop and no loudspeaker, so what the page hands over is looked at.

import assert from "node:assert/strict";
import { test } from "node:test";

import { logIn } from "./browser.mjs";
import { AUTH, PERMISSION } from "./samples.mjs";
import { hub, someone, stage, stranger, until } from "./stage.mjs";

stage();

/** A page that nobody looks at; headless Chromium always claims the opposite. */
function lookAway(page) {
  return page.evaluate(() => {
    Object.defineProperty(document, "hidden", { get: () => true });
    Object.defineProperty(document, "hasFocus", { value: () => false });
  });
}

/** The browser's question for permission, counted and answered as a person would. */
function answerPermission(page, word) {
  return page.evaluate((given) => {
    window.asked = 0;
    Notification.requestPermission = async () => {
      window.asked += 1;
      return given;
    };
  }, word);
}

/**
 * Keeps what the page shows, after the browser has really taken it. Chromium forgets a notification that is read while it is still
 * being shown, so it is not the one to ask what is there.
 */
function watchDesktop(page) {
  return page.evaluate(() => {
    window.desktop = [];
    const show = ServiceWorkerRegistration.prototype.showNotification;
    ServiceWorkerRegistration.prototype.showNotification = async function (title, options) {
      await show.call(this, title, options);
      const close = () => (window.desktop = window.desktop.filter((one) => one.close !== close));
      window.desktop.push({ title, body: options.body, tag: options.tag, close });
    };
    ServiceWorkerRegistration.prototype.getNotifications = async ({ tag } = {}) =>
      window.desktop.filter((one) => tag === undefined || one.tag === tag);
  });
}

const shown = (page) => page.evaluate(() => window.desktop.map(({ title, body, tag }) => ({ title, body, tag })));

test("notifications are asked for by a click only, show the question and are withdrawn when it is answered elsewhere", async () => {
  const page = await someone({ permissions: ["notifications"] });
  await lookAway(page);
  await watchDesktop(page);
  await answerPermission(page, "granted");
  assert.equal(await page.evaluate(() => window.asked), 0);
  await page.getByRole("button", { name: "Notify me" }).click();
  assert.equal(await page.evaluate(() => window.asked), 1);
  await page.evaluate(() => navigator.serviceWorker.ready);
  const [auth, permission] = [await hub.ask(AUTH), await hub.ask(PERMISSION)];
  await until(async () => (await shown(page)).length === 2, "two notifications");
  assert.deepEqual(
    (await shown(page)).sort((a, b) => a.title.localeCompare(b.title)),
    [
      { title: "Claude Code asks · shop", body: "Which auth method should we use?", tag: auth.id },
      { title: "Codex asks · blog", body: "May I run this command?", tag: permission.id },
    ],
  );
  await hub.reply(auth.id, [["JWT"]]);
  await until(async () => (await shown(page)).length === 1, "the answered one is withdrawn");
  assert.deepEqual(
    (await shown(page)).map(({ tag }) => tag),
    [permission.id],
    "the other one stays",
  );
  await hub.call("POST", `/v1/questions/${permission.id}/withdraw`, {});
  await until(async () => (await shown(page)).length === 0, "the one that was taken back is withdrawn too");
});

test("a question that was asked while the page heard nothing is told when it hears again", async () => {
  const page = await someone({ permissions: ["notifications"] });
  await lookAway(page);
  await watchDesktop(page);
  await answerPermission(page, "granted");
  await page.getByRole("button", { name: "Notify me" }).click();
  await page.evaluate(() => navigator.serviceWorker.ready);
  await page.context().setOffline(true);
  await page.locator('[data-light="offline"]').waitFor();
  const { id } = await hub.ask(AUTH);
  await page.context().setOffline(false);
  await until(async () => (await shown(page)).length === 1, "the notification");
  assert.deepEqual(
    (await shown(page)).map(({ tag }) => tag),
    [id],
  );
});

test("a refused permission is said, and notifications stay off", async () => {
  const page = await someone();
  await answerPermission(page, "denied");
  await page.locator('summary[aria-label="Settings"]').click();
  const box = page.getByRole("checkbox", { name: "Notify me in this browser" });
  await box.click();
  await page.getByText("The browser refused.").waitFor();
  assert.equal(await box.isChecked(), false);
  assert.equal(JSON.parse(await page.evaluate(() => localStorage.getItem("askd.settings"))).notify, false);
});

test("the sound is off until it is wanted, sounds for a question that nobody is looking at, and is remembered", async () => {
  const page = await stranger();
  await page.addInitScript(() => {
    window.tones = [];
    const start = OscillatorNode.prototype.start;
    OscillatorNode.prototype.start = function (when) {
      window.tones.push(this.frequency.value);
      return start.call(this, when);
    };
  });
  await logIn(page, hub);
  const tones = () => page.evaluate(() => window.tones);
  const asked = async () => {
    const { id } = await hub.ask(AUTH);
    await page.locator(`[data-id="${id}"]`).waitFor();
  };
  await lookAway(page);
  await asked();
  assert.deepEqual(await tones(), [], "nobody asked for a sound");
  await page.locator('summary[aria-label="Settings"]').click();
  await page.getByRole("checkbox", { name: "With a sound" }).check();
  await asked();
  assert.deepEqual(await tones(), [660, 880]);
  await page.reload();
  await page.locator('[data-light="live"]').waitFor();
  await asked();
  assert.deepEqual(await tones(), [], "the page is in front: the question itself is enough");
  await lookAway(page);
  await asked();
  assert.deepEqual(await tones(), [660, 880], "the wish is kept over a reload");
});
