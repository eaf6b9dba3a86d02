/** The package in a real browser, unbundled, on a page of another origin that the hub allows. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { Hub } from "./support/hub.js";
import { askedId, eventually } from "./support/tools.js";

type Browser = "chromium" | "firefox";
const PROGRAMS: Record<Browser, string> = {
  chromium: process.env.ASKD_CHROMIUM ?? "chromium",
  firefox: process.env.ASKD_FIREFOX ?? "firefox-esr",
};
const ARGUMENTS: Record<Browser, (profile: string) => string[]> = {
  chromium: (profile) => [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    `--user-data-dir=${profile}`,
  ],
  firefox: (profile) => ["--headless", "--no-remote", "--profile", profile],
};
const BROWSERS: Browser[] = ["chromium", "firefox"];

let hub: Hub;
let server: Server;
let origin: string;
/** What a page has posted, by path. */
const posted = new Map<string, string>();

before(async () => {
  server = createServer((request, response) => {
    const path = request.url ?? "";
    if (request.method === "POST") {
      let body = "";
      request.on("data", (piece: Buffer) => (body += piece.toString()));
      request.on("end", () => {
        posted.set(path, body);
        response.end();
      });
    } else if (/^\/dist\/[a-z-]+\.js$/.test(path)) {
      response.setHeader("content-type", "text/javascript").end(readFileSync(`.${path}`));
    } else {
      const script = { "/widget": WIDGET, "/many": MANY }[path] ?? SCRIPT;
      response
        .setHeader("content-type", "text/html")
        .end(`<!doctype html><body><script type="module">${script}</script>`);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  assert.ok(address !== null && typeof address === "object");
  origin = `http://127.0.0.1:${address.port}`;
  hub = await Hub.start("--allow-origin", origin);
});
after(async () => {
  server.closeAllConnections();
  server.close();
  await hub.remove();
});

/** Runs in the page. */
const SCRIPT = `
  const told = [];
  try {
    const { AskdClient, AlreadySettledError, UnauthorizedError } = await import("/dist/index.js");
    const [url, code, after] = decodeURIComponent(location.hash.slice(1)).split(" ");
    const page = new AskdClient({ url, fetch: window.fetch });
    told.push((await page.health()).status);
    told.push((await page.questions.list().page().catch((error) => error)) instanceof UnauthorizedError);
    const client = new AskdClient({ url, token: await page.logIn(code), surface: "web" });
    const states = [];
    client.watchOpen((state) => states.push(state.connection + " " + state.questions.size));
    client.onQuestion(() => [["Blue"]]);
    const result = await client.ask({ questions: [{ question: "Colour?", options: ["Red", "Blue"] }] });
    told.push(result.status, result.answers, result.outcome.by);
    const late = await client.replyQuestion(result.question.id, [["Red"]]).catch((error) => error);
    told.push(late instanceof AlreadySettledError && late.by.actor);
    const types = [];
    for await (const event of client.events({ after: Number(after) })) if (types.push(event.type) === 2) break;
    told.push(types);
    while (states.at(-1) !== "live 0") await new Promise((resolve) => setTimeout(resolve, 20));
  } catch (error) {
    told.push(String(error));
  }
  await fetch("/result", { method: "POST", body: JSON.stringify(told) });
`;

/** Also in the page: the element is there before the hub is. */
const WIDGET = `
  const [url, token, id] = decodeURIComponent(location.hash.slice(1)).split(" ");
  await import("/dist/widget.js");
  const element = document.createElement("askd-question");
  for (const [name, value] of Object.entries({ hub: url, token, "question-id": id })) element.setAttribute(name, value);
  document.body.append(element);
  const until = async (look) => {
    while (!look()) await new Promise((resolve) => setTimeout(resolve, 20));
  };
  await until(() => element.state !== "hidden");
  await fetch("/away", { method: "POST", body: element.state });
  await until(() => element.state !== "failed" && element.state !== "hidden");
  await fetch("/back", { method: "POST", body: element.state });
`;

/** Also in the page: more elements than there are connections, and one of them is answered. */
const MANY = `
  const [url, token, ...ids] = decodeURIComponent(location.hash.slice(1)).split(" ");
  const told = [];
  const until = async (look) => {
    while (!look()) await new Promise((resolve) => setTimeout(resolve, 20));
  };
  try {
    await import("/dist/widget.js");
    const all = ids.map((id) => {
      const element = document.createElement("askd-question");
      for (const [name, value] of Object.entries({ hub: url, token, "question-id": id })) element.setAttribute(name, value);
      return element;
    });
    document.body.append(...all);
    await until(() => all.every(({ state }) => state === "asking"));
    all[3].scrollIntoView();
    const within = (selector) => all[3].shadowRoot.querySelector(selector);
    await until(() => within('[part="submit"]').getAttribute("aria-disabled") === "false");
    within("input[type=radio]").click();
    within('[part="submit"]').click();
    await until(() => all[3].state === "settled");
    told.push(all[3].getAttribute("outcome"), all[3].getAttribute("by"));
    await fetch("/ready", { method: "POST", body: "ready" });
    // Another one is answered elsewhere.
    await until(() => all[5].state === "settled");
    told.push(all[5].getAttribute("by"));
  } catch (error) {
    told.push(String(error));
  }
  await fetch("/many-result", { method: "POST", body: JSON.stringify(told) });
`;

/** Opens a page for as long as something is done. */
async function withPage(browser: Browser, path: string, words: string[], work: () => Promise<void>): Promise<void> {
  const profile = mkdtempSync(join(tmpdir(), `askd-sdk-${browser}-`));
  const address = `${origin}${path}#${encodeURIComponent(words.join(" "))}`;
  posted.clear();
  const args = [...ARGUMENTS[browser](profile), address];
  // Firefox keeps a folder in the home of its user beside the profile.
  const env = { ...process.env, HOME: profile };
  const child = spawn(PROGRAMS[browser], args, { stdio: "ignore", detached: true, env });
  const missing = new Promise<never>((_, reject) => child.once("error", reject));
  try {
    await Promise.race([work(), missing]);
  } finally {
    // Its helpers are in its process group.
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    rmSync(profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }
}

for (const browser of BROWSERS) {
  test(`it_asks_answers_and_follows_in_a_page_of_another_origin_in_${browser}`, async () => {
    const seq = (await hub.client().questions.list({ limit: 1 }).page()).seq;
    const { code } = await hub.client().tokens.loginCode();
    await withPage(browser, "/", [hub.url, code, String(seq)], async () => {
      assert.deepEqual(JSON.parse(await eventually(() => posted.get("/result"))), [
        "ok",
        true,
        "answered",
        [{ picks: ["Blue"], labels: ["Blue"], words: [] }],
        { surface: "web", actor: "browser" },
        "browser",
        ["question.requested", "question.resolved"],
      ]);
    });
  });

  test(`an_element_that_is_there_before_the_hub_shows_its_question_when_the_hub_is_in_${browser}`, async () => {
    const id = await askedId(hub.client());
    const words = [hub.url, hub.token, id];
    await hub.killHard();
    await withPage(browser, "/widget", words, async () => {
      assert.equal(await eventually(() => posted.get("/away")), "failed");
      await hub.restart();
      assert.equal(await eventually(() => posted.get("/back")), "asking");
    });
    await hub.client().rejectQuestion(id);
  });

  test(`twelve_elements_are_drawn_and_answered_in_${browser}`, async () => {
    const ids: string[] = [];
    for (let i = 0; i < 12; i += 1) ids.push(await askedId(hub.client()));
    await withPage(browser, "/many", [hub.url, hub.token, ...ids], async () => {
      await eventually(() => posted.get("/ready"));
      assert.deepEqual((await hub.client().questions.get(ids[3] ?? "")).outcome?.answers?.[0]?.picks, ["A"]);
      await hub.client().replyQuestion(ids[5] ?? "", [["b"]]);
      assert.deepEqual(JSON.parse(await eventually(() => posted.get("/many-result"))), [
        "answered",
        "here",
        "elsewhere",
      ]);
    });
    for (const [i, id] of ids.entries()) if (i !== 3 && i !== 5) await hub.client().rejectQuestion(id);
  });
}
