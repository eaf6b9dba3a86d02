// What `./bench page` measures in Debian's Chromium: node bench/page.mjs URL, with the hub's token in ASKD_TOKEN.
//
// In: a hub with many open questions. Out: one line of JSON with all samples; the caller judges them.

import { gzipSync } from "node:zlib";

import { launch, visitor } from "../tests/browser/browser.mjs";

const [url] = process.argv.slice(2);
const token = process.env.ASKD_TOKEN;
if (!url || !token) {
  console.error("usage: ASKD_TOKEN=... node bench/page.mjs URL");
  process.exit(2);
}
const LOADS = 30;
/** Faster than a hurried thumb: the whole list in some two hundred frames. */
const PIXELS_PER_FRAME = 400;
const IDLE_FRAMES = 200;

/** A browser that was here before, logged in, with nothing cached; it notes when a question can be answered. */
async function guest(browser) {
  const one = await visitor(browser);
  await one.page.addInitScript((given) => {
    localStorage.setItem("askd.token", JSON.stringify(given));
    const look = () => {
      const button = document.querySelector("[data-submit]:not([disabled])");
      const rows = document.querySelectorAll("[data-id]").length;
      if (button && rows > 0) window.usableAt = performance.now();
      else requestAnimationFrame(look);
    };
    look();
  }, token);
  return one;
}

async function coldLoad(browser) {
  const { page, context } = await guest(browser);
  await page.goto(`${url}/#/inbox`);
  const took = await page.waitForFunction(() => window.usableAt).then((handle) => handle.jsonValue());
  await context.close();
  return took;
}

/** The cheapest document of the same hub, in the same browser. */
async function bareLoad(browser) {
  const { page, context } = await visitor(browser);
  await page.goto(`${url}/v1/health`);
  const took = await page.evaluate(() => performance.getEntriesByType("navigation")[0].loadEventEnd);
  await context.close();
  return took;
}

/** Milliseconds of each frame, while the list is scrolled from its start to its end or, without pixels, left alone. */
function frames(page, pixels, idle) {
  return page.locator(".scroller").evaluate(
    async (box, given) => {
      const times = [];
      const next = () => new Promise((resolve) => requestAnimationFrame(resolve));
      box.scrollTop = 0;
      let last = await next();
      const count = given.pixels > 0 ? Math.ceil((box.scrollHeight - box.clientHeight) / given.pixels) : given.idle;
      for (let i = 0; i < count; i += 1) {
        box.scrollTop += given.pixels;
        const now = await next();
        times.push(now - last);
        last = now;
      }
      return times;
    },
    { pixels, idle },
  );
}

async function firstViewBytes() {
  const bytes = async (path) =>
    gzipSync(Buffer.from(await (await fetch(url + path)).arrayBuffer()), { level: 9 }).length;
  const page = await (await fetch(`${url}/`)).text();
  const sizes = await Promise.all(
    ["/", ...[...page.matchAll(/"(\/assets\/[^"]+)"/g)].map(([, path]) => path)].map(bytes),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

const browser = await launch();
try {
  await coldLoad(browser);
  const [cold, bare] = [[], []];
  for (let i = 0; i < LOADS; i += 1) {
    cold.push(await coldLoad(browser));
    bare.push(await bareLoad(browser));
  }
  const { page } = await guest(browser);
  await page.goto(`${url}/#/inbox`);
  await page.waitForFunction(() => window.usableAt);
  const [idle, scroll] = [await frames(page, 0, IDLE_FRAMES), await frames(page, PIXELS_PER_FRAME, 0)];
  console.log(JSON.stringify({ cold, bare, idle, scroll, firstViewBytes: await firstViewBytes() }));
} finally {
  await browser.close();
}
