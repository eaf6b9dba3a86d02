// The built files are checked in, so that cargo alone builds the binary. This keeps them in step with their sources,
// and the first view small. Exit code 0 and "N passed" when all is well.

import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const WEB = fileURLToPath(new URL("..", import.meta.url));
const DIST = join(WEB, "dist");
const FIRST_VIEW_LIMIT = 120_000;

function files(folder, root = folder) {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? files(path, root) : [relative(root, path)];
  }).sort();
}

const failures = [];
const fresh = mkdtempSync(join(tmpdir(), "askd-dist-"));
try {
  execFileSync(process.execPath, [join(WEB, "node_modules/vite/bin/vite.js"), "build", "--outDir", fresh, "--emptyOutDir", "--logLevel", "error"], { cwd: WEB, stdio: "inherit", timeout: 120_000 });
  const [kept, made] = [existsSync(DIST) ? files(DIST) : [], files(fresh)];
  const differ = made.filter((name) => !kept.includes(name) || !readFileSync(join(DIST, name)).equals(readFileSync(join(fresh, name))));
  const extra = kept.filter((name) => !made.includes(name));
  if (differ.length + extra.length > 0) {
    failures.push(`web/dist is not what the sources build: ${[...differ, ...extra].join(", ")}. Run npm run build and commit it.`);
  }

  const page = readFileSync(join(fresh, "index.html"), "utf8");
  const first = ["index.html", ...[...page.matchAll(/"\/(assets\/[^"]+)"/g)].map(([, name]) => name)];
  const bytes = first.reduce((sum, name) => sum + gzipSync(readFileSync(join(fresh, name)), { level: 9 }).length, 0);
  if (bytes > FIRST_VIEW_LIMIT) failures.push(`the first view has ${bytes} gzipped bytes, at most ${FIRST_VIEW_LIMIT} are allowed`);
  console.log(`first view: ${bytes} gzipped bytes of at most ${FIRST_VIEW_LIMIT}`);

  if (/<script(?![^>]*\ssrc=)|\sstyle=|\son\w+=/i.test(page)) failures.push("index.html has inline code or style, which the policy forbids");
  const lock = readFileSync(join(WEB, "package-lock.json"), "utf8");
  if (/"resolved":/.test(lock)) failures.push("package-lock.json names download addresses; install with omit-lockfile-registry-resolved");
} finally {
  rmSync(fresh, { recursive: true, force: true });
}

for (const failure of failures) console.error(failure);
console.log(`${4 - failures.length} passed, ${failures.length} failed`);
process.exit(failures.length > 0 ? 1 : 0);
