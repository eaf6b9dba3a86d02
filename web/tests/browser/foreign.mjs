// Pages of somebody else, on origins of their own, that use the SDK as it is built.

import { execFileSync } from "node:child_process";
import { createReadStream, statSync } from "node:fs";
import { createServer } from "node:http";
import { after, before } from "node:test";
import { fileURLToPath } from "node:url";

export const SDK = fileURLToPath(new URL("../../../sdk/typescript/", import.meta.url));
const TSC = fileURLToPath(new URL("../../node_modules/typescript/bin/tsc", import.meta.url));
const servers = [];
/** More pages of every origin, by path. Not by Playwright's routes: the browser would not know that they come from this machine. */
export const pages = new Map();

/** Called once by each file that shows such pages: the package is built before its tests. */
export function foreignPages() {
  before(() => execFileSync(process.execPath, [TSC, "-p", SDK], { stdio: "inherit", timeout: 300_000 }));
  after(() => {
    for (const server of servers) {
      server.close();
      server.closeAllConnections();
    }
  });
}

/** An origin with an empty page that has the built package under `/dist`. */
export async function serve(name = "127.0.0.1") {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, "http://page");
    const html =
      "<!doctype html><html lang=en><title>chat</title><meta name=viewport content='width=device-width'><main><h1>Chat</h1></main>";
    const page = pages.get(pathname);
    if (page) return void response.writeHead(200, { "content-type": "text/html" }).end(page);
    if (pathname === "/") return void response.writeHead(200, { "content-type": "text/html" }).end(html);
    const file = `${SDK}${pathname.slice(1)}`;
    if (!/^\/dist\/[a-z-]+\.js$/.test(pathname) || !statSync(file, { throwIfNoEntry: false }))
      return void response.writeHead(404).end();
    response.writeHead(200, { "content-type": "text/javascript" });
    createReadStream(file).pipe(response);
  });
  servers.push(server);
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return `http://${name}:${server.address().port}`;
}

/** Puts elements with these attributes into a page that is already open, and notes each event that they tell. */
export function addWidgets(page, all) {
  return page.evaluate(async (all) => {
    await import("/dist/widget.js");
    globalThis.told ??= [];
    for (const name of ["asked", "accepted", "waiting", "settled", "failed"])
      if (!globalThis[`on-${name}`]) {
        globalThis[`on-${name}`] = true;
        document.addEventListener(`askd-${name}`, () => globalThis.told.push(name));
      }
    const widgets = all.map((attributes) => {
      const widget = document.createElement("askd-question");
      for (const [name, value] of Object.entries(attributes)) widget.setAttribute(name, value);
      return widget;
    });
    document.querySelector("main").append(...widgets);
  }, all);
}
