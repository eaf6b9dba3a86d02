/// <reference types="vitest/config" />
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

import { sdkFile } from "./sdkFile.ts";

// `ASKD_URL` lets `npm run dev` use a hub that runs elsewhere on this machine.
const hub = process.env.ASKD_URL ?? "http://127.0.0.1:2753";

const sdk = (file: string): string => fileURLToPath(new URL(`../sdk/typescript/src/${file}`, import.meta.url));

export default defineConfig({
  plugins: [svelte(), sdkFile(sdk)],
  // The client is compiled from its source, so that the page never waits for a build or a release of it.
  resolve: {
    alias: [
      { find: /^askd$/, replacement: sdk("index.ts") },
      { find: /^askd\/(keys|sight|text)$/, replacement: sdk("$1.ts") },
    ],
  },
  build: {
    outDir: "dist",
    target: "es2022",
    // The page's policy forbids inline code and data: scripts, so nothing may be inlined.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // The built files are checked in and compared with a fresh build: no dates, no maps.
    sourcemap: false,
  },
  server: { proxy: { "/v1": { target: hub, changeOrigin: true, headers: { origin: hub } } } },
  test: { include: ["tests/unit/**/*.test.ts"], environment: "node" },
});
