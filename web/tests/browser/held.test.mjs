// What a review of meaning attacked and found whole: input methods, very many options, text from right to left, a hub that is killed
// in the moment of Submit.

import assert from "node:assert/strict";
import { test } from "node:test";

import { AUTH } from "./samples.mjs";
import { hub, quiet, ready, sending, someone, stage, until } from "./stage.mjs";

stage();

const at = (page, { id }) => page.goto(`${hub.url}/#/inbox/${id}`);
const accepted = (page) => page.getByRole("heading", { name: "Your answer was accepted" }).waitFor();
const given = async ({ id }) =>
  (await hub.question(id)).outcome.answers.map(({ picks, words }) => [...picks, ...words]);

test("the Enter that ends a composition of an input method submits nothing; the next one does", async () => {
  const asked = await hub.ask(AUTH);
  const page = await someone();
  await at(page, asked);
  await ready(page);
  const sent = sending(page);
  await page.getByRole("radio", { name: /Other/ }).check();
  await page.locator("[data-other-text]").focus();
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("Input.imeSetComposition", { text: "にほん", selectionStart: 3, selectionEnd: 3 });
  await page.evaluate(() =>
    document.activeElement.dispatchEvent(
      new KeyboardEvent("keydown", { key: "Enter", isComposing: true, bubbles: true, cancelable: true }),
    ),
  );
  await quiet(page);
  assert.deepEqual(sent, []);
  await cdp.send("Input.insertText", { text: "日本" });
  await page.keyboard.press("Enter");
  await accepted(page);
  assert.deepEqual(await given(asked), [["日本"]]);
});

test("of 512 options the first and the last arrive, and nothing is wider than the page", async () => {
  const options = Array.from({ length: 512 }, (_, i) => `option ${i}`);
  const asked = await hub.ask({ questions: [{ question: "Which?", multiple: true, options }] });
  const page = await someone();
  await at(page, asked);
  await ready(page);
  await page.getByRole("checkbox", { name: "option 511" }).check();
  await page.getByRole("checkbox", { name: "option 0", exact: true }).check();
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  await page.getByRole("button", { name: /^Submit/ }).click();
  await accepted(page);
  assert.deepEqual(await given(asked), [["option 0", "option 511"]]);
});

test("an option from right to left is the one that was picked, and its neighbour is not", async () => {
  const options = ["מחק הכל", "אל תמחק (rm -rf /)", "احذف"];
  const asked = await hub.ask({ questions: [{ question: "למחוק? (yes/no)", options }] });
  const page = await someone();
  await at(page, asked);
  await ready(page);
  await page.keyboard.press("2");
  await page.locator(".option.picked").getByText("אל תמחק").waitFor();
  await page.keyboard.press("Enter");
  await accepted(page);
  assert.deepEqual(await given(asked), [[options[1]]]);
});

test("a hub that is killed in the moment of Submit has the answer, or the page still has it", async () => {
  const page = await someone();
  for (const pause of [0, 4, 11, 22]) {
    const asked = await hub.ask(AUTH);
    await at(page, asked);
    await ready(page);
    await page.keyboard.press("2");
    const clicked = page.locator("[data-submit]").click();
    await new Promise((done) => setTimeout(done, pause));
    await hub.kill();
    await clicked;
    await hub.run();
    await page.locator('[data-light="live"]').waitFor();
    const ended = page.locator("[data-outcome]");
    const failed = page.locator("article .notice.bad");
    await ended.or(failed).first().waitFor();
    if ((await ended.count()) === 0) await page.locator("[data-submit]").click();
    await ended.waitFor();
    await until(async () => (await hub.question(asked.id)).status === "answered", "the answer");
    assert.deepEqual(await given(asked), [["Sessions"]], `killed after ${pause} ms`);
  }
});
