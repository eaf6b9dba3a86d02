// The built files are checked in, so that cargo alone builds the binary. These tests keep them in step with their sources, and the first
// view small.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const WEB = fileURLToPath(new URL("..", import.meta.url));
const DIST = join(WEB, "dist");
const VITE = join(WEB, "node_modules/vite/bin/vite.js");
const FIRST_VIEW_LIMIT = 120_000;

let fresh;
let page;

before(() => {
  fresh = mkdtempSync(join(tmpdir(), "askd-dist-"));
  execFileSync(process.execPath, [VITE, "build", "--outDir", fresh, "--emptyOutDir", "--logLevel", "error"], {
    cwd: WEB,
    stdio: "inherit",
    timeout: 300_000,
  });
  page = readFileSync(join(fresh, "index.html"), "utf8");
});
after(() => rmSync(fresh, { recursive: true, force: true }));

function files(folder, root = folder) {
  return readdirSync(folder)
    .flatMap((name) => {
      const path = join(folder, name);
      return statSync(path).isDirectory() ? files(path, root) : [relative(root, path)];
    })
    .sort();
}

test("web/dist is what the sources build: else run npm run build and commit it", () => {
  const [kept, made] = [existsSync(DIST) ? files(DIST) : [], files(fresh)];
  assert.deepEqual(kept, made);
  const differ = made.filter((name) => !readFileSync(join(DIST, name)).equals(readFileSync(join(fresh, name))));
  assert.deepEqual(differ, []);
});

test("the first view is small", (context) => {
  const first = ["index.html", ...[...page.matchAll(/"\/(assets\/[^"]+)"/g)].map(([, name]) => name)];
  const bytes = first.reduce((sum, name) => sum + gzipSync(readFileSync(join(fresh, name)), { level: 9 }).length, 0);
  context.diagnostic(`${bytes} gzipped bytes of at most ${FIRST_VIEW_LIMIT}`);
  assert.ok(first.length >= 3 && bytes <= FIRST_VIEW_LIMIT, `${bytes} bytes`);
});

test("the file of the SDK is there under its own name and under that of its content", () => {
  const [hashed, plain, ...rest] = readdirSync(join(fresh, "sdk")).sort();
  assert.deepEqual([plain, rest], ["widget.js", []]);
  const code = readFileSync(join(fresh, "sdk", plain));
  assert.ok(readFileSync(join(fresh, "sdk", hashed)).equals(code));
  assert.equal(hashed, `widget-${createHash("sha256").update(code).digest("hex").slice(0, 12)}.js`);
});

test("the page has no inline code or style, which its policy forbids", () => {
  assert.doesNotMatch(page, /<script(?![^>]*\ssrc=)|\sstyle=|\son\w+=/i);
});

test("the lock file names no download addresses: install with omit-lockfile-registry-resolved", () => {
  assert.doesNotMatch(readFileSync(join(WEB, "package-lock.json"), "utf8"), /"resolved":/);
});
