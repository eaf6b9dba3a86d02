// Debian's Chromium, driven by Playwright.

import { mkdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
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
  "--host-resolver-rules=MAP chat.test 127.0.0.1",
];
export const SHOTS = fileURLToPath(new URL("../../test-results/", import.meta.url));
/** Longer than any honest wait on a busy machine. */
export const PATIENCE_MS = 45_000;
const AXE = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export function launch() {
  return chromium.launch({ executablePath: EXECUTABLE, args: FLAGS });
}

/** What keeps the browser from installing a page. Private windows never do, so this one has a profile for the moment. */
export async function whyNotInstallable(url) {
  const context = await chromium.launchPersistentContext("", { executablePath: EXECUTABLE, args: FLAGS });
  try {
    const page = await context.newPage();
    await page.goto(url);
    const { installabilityErrors } = await (await context.newCDPSession(page)).send("Page.getInstallabilityErrors");
    return installabilityErrors.map(({ errorId }) => errorId);
  } finally {
    await context.close();
  }
}

/** A browser of one's own, and what its page complained about. */
export async function visitor(browser, options = {}) {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    locale: "en-GB",
    timezoneId: "UTC",
    ...options,
  });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const complaints = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    // A hub that is down or refuses an origin is reported by the browser itself; some tests want just that.
    if (message.type() === "error" && !/Failed to load resource|net::ERR_|blocked by CORS policy/.test(message.text()))
      complaints.push(message.text());
  });
  return { context, page, complaints };
}

/** Opens the inbox, logged in. */
export async function logIn(page, hub) {
  await page.goto(await hub.loginLink());
  await page.locator('[data-light="live"]').waitFor();
}

export async function shot(page, name) {
  await mkdir(SHOTS, { recursive: true });
  await page.screenshot({ path: `${SHOTS}${name}.png` });
}

/** What axe finds. Through the debugger, because the page's own policy rightly refuses an injected script element. */
export async function violations(page, within) {
  await page.evaluate(AXE);
  const found = await page.evaluate(
    (part) => globalThis.axe.run(part ?? document, { resultTypes: ["violations"] }),
    within,
  );
  return found.violations.map(
    ({ id, nodes }) =>
      `${id}: ${nodes
        .map(({ html }) => html)
        .join(" | ")
        .slice(0, 400)}`,
  );
}
