// Debian's Chromium, driven by Playwright; one browser per test file, one context per person.

import { mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";

import { chromium } from "playwright-core";

const EXECUTABLE = process.env.CHROMIUM ?? "/usr/bin/chromium";
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
export const SHOTS = fileURLToPath(new URL("../../test-results/", import.meta.url));
/** Longer than any honest wait on a busy machine. */
const PATIENCE_MS = 15_000;

export function launch() {
  return chromium.launch({ executablePath: EXECUTABLE, args: FLAGS });
}

/** A person with a browser of his own, logged in. Whatever the page complains about fails the test that asks for it. */
export async function person(browser, hub, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: "en-GB", timezoneId: "UTC", ...options });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const complaints = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    // A hub that is down is reported by the browser itself; some tests want just that.
    if (message.type() === "error" && !/Failed to load resource|net::ERR_/.test(message.text())) complaints.push(message.text());
  });
  await page.goto(await hub.loginLink());
  await page.locator('[data-light="live"]').waitFor();
  return { context, page, complaints };
}

export async function shot(page, name) {
  await mkdir(SHOTS, { recursive: true });
  await page.screenshot({ path: `${SHOTS}${name}.png` });
}
