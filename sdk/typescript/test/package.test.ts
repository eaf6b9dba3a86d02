/** What the package promises about itself: made from the API document, for Node and browsers, without dependencies. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

test("the_types_are_those_of_the_api_document", () => {
  // `npm run generate` mends it.
  execFileSync("node_modules/.bin/openapi-typescript", ["../../api/openapi.json", "-o", "src/generated.ts", "--check"]);
});

test("nothing_in_it_needs_node_or_another_package", () => {
  const files = readdirSync("dist").filter((name) => name.endsWith(".js"));
  assert.ok(files.includes("index.js"));
  for (const file of files) {
    const code = readFileSync(`dist/${file}`, "utf8");
    const imports = [...code.matchAll(/(?:from|import)\s*\(?\s*["']([^"']+)["']/g)].map((found) => found[1] ?? "");
    assert.deepEqual(
      imports.filter((name) => !/^\.\/[a-z-]+\.js$/.test(name)),
      [],
      file,
    );
    assert.doesNotMatch(code, /\b(process|Buffer|require|__dirname)\b[.(]/, file);
  }
  const manifest = JSON.parse(readFileSync("package.json", "utf8")) as Record<string, unknown>;
  assert.equal(manifest.dependencies, undefined);
});

test("the_lock_file_names_no_registry", () => {
  const lock = JSON.parse(readFileSync("package-lock.json", "utf8")) as {
    packages: Record<string, { resolved?: string }>;
  };
  assert.deepEqual(
    Object.values(lock.packages).filter((entry) => entry.resolved !== undefined),
    [],
  );
});

test("the_packed_files_are_the_built_ones", () => {
  // With its scripts: one of them brings the licences, which lie at the root of the repository.
  const packed = JSON.parse(
    execFileSync("npm", ["pack", "--dry-run", "--json", "--silent"], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }),
  ) as { files: { path: string }[] }[];
  const paths = packed[0]?.files.map((file) => file.path) ?? [];
  for (const wanted of [
    "dist/index.js",
    "dist/index.d.ts",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "package.json",
  ])
    assert.ok(paths.includes(wanted), wanted);
  assert.deepEqual(
    paths.filter((path) => !/^(dist\/[a-z-]+\.(js|d\.ts)|LICENSE-(APACHE|MIT)|README\.md|package\.json)$/.test(path)),
    [],
  );
  for (const licence of ["LICENSE-APACHE", "LICENSE-MIT"])
    assert.equal(readFileSync(licence, "utf8"), readFileSync(`../../${licence}`, "utf8"));
  const links = [...readFileSync("README.md", "utf8").matchAll(/\]\(([^)]+)\)/g)].map((found) => found[1] ?? "");
  assert.deepEqual(
    links.filter((link) => !paths.includes(link)),
    [],
    "what the README points to is in the package",
  );
});
