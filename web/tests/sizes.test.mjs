// What a page loads of the SDK, bundled, minified and gzipped. With the bundler that builds the page here.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

import { rolldown } from "rolldown";

const SDK = fileURLToPath(new URL("../../sdk/typescript/src/", import.meta.url));

/** The bytes of an entry with all that it loads, also later. */
async function size(entry) {
  const bundle = await rolldown({
    input: `${SDK}${entry}.ts`,
    external: ["react"],
    resolve: { extensionAlias: { ".js": [".ts", ".js"] } },
  });
  const { output } = await bundle.generate({ minify: true, codeSplitting: false });
  assert.equal(output.length, 1);
  return gzipSync(output[0].code).length;
}

test("the core of the SDK is less than 10 kB", async () => {
  const bytes = await size("index");
  assert.ok(bytes < 10_000, `${bytes} bytes`);
});

test("the element is less than 32 kB with all that it loads for any question", async () => {
  const bytes = await size("widget");
  assert.ok(bytes > 10_000 && bytes < 32_000, `${bytes} bytes`);
});
