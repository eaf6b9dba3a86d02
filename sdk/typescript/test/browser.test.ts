/** The package in a real browser, unbundled, on a page of another origin that the hub allows. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { Hub } from "./support/hub.js";

const CHROMIUM = process.env["ASKD_CHROMIUM"] ?? "chromium";

let hub: Hub;
let server: Server;
let origin: string;
let tellResult: (result: string) => void;
const result = new Promise<string>((resolve) => (tellResult = resolve));

before(async () => {
  server = createServer((request, response) => {
    const path = request.url ?? "";
    if (request.method === "POST") {
      let body = "";
      request.on("data", (piece: Buffer) => (body += piece.toString()));
      request.on("end", () => (tellResult(body), response.end()));
    } else if (/^\/dist\/[a-z-]+\.js$/.test(path)) {
      response.setHeader("content-type", "text/javascript").end(readFileSync(`.${path}`));
    } else {
      response.setHeader("content-type", "text/html").end(`<!doctype html><script type="module">${SCRIPT}</script>`);
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
    const [url, code] = decodeURIComponent(location.hash.slice(1)).split(" ");
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
    for await (const event of client.events({ after: 0 })) if (types.push(event.type) === 2) break;
    told.push(types);
    while (states.at(-1) !== "live 0") await new Promise((resolve) => setTimeout(resolve, 20));
  } catch (error) {
    told.push(String(error));
  }
  await fetch("/result", { method: "POST", body: JSON.stringify(told) });
`;

test("it_asks_answers_and_follows_in_a_page_of_another_origin", async () => {
  const { code } = await hub.client().tokens.loginCode();
  const profile = mkdtempSync(join(tmpdir(), "askd-sdk-chromium-"));
  const address = `${origin}/#${encodeURIComponent(`${hub.url} ${code}`)}`;
  const args = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", `--user-data-dir=${profile}`, address];
  const browser = spawn(CHROMIUM, args, { stdio: "ignore", detached: true });
  const missing = new Promise<never>((_, reject) => browser.once("error", reject));
  try {
    assert.deepEqual(JSON.parse(await Promise.race([result, missing])), [
      "ok",
      true,
      "answered",
      [["Blue"]],
      { surface: "web", actor: "browser" },
      "browser",
      ["question.requested", "question.resolved"],
    ]);
  } finally {
    // Its helpers are in its process group.
    if (browser.pid !== undefined) process.kill(-browser.pid, "SIGKILL");
    rmSync(profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }
});
