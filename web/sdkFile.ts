/**
 * The element and the client of the SDK as one file that the hub serves, so that a page needs no npm: `/sdk/widget.js`, and the same
 * under a name with the hash of its content, for `integrity`.
 */

import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import type { Plugin } from "vite";

const ENTRY = fileURLToPath(new URL("sdkEntry.ts", import.meta.url));

export function sdkFile(source: (file: string) => string): Plugin {
  return {
    name: "askd-sdk-file",
    apply: "build",
    async generateBundle() {
      const alias = {
        "askd/widget": source("widget.ts"),
        "askd/explain": source("explain.ts"),
        askd: source("index.ts"),
      };
      const bundle = await rolldown({
        input: ENTRY,
        resolve: { alias, extensionAlias: { ".js": [".ts", ".js"] } },
        // All of it is exported, and the package's list of files with effects names built ones.
        treeshake: false,
      });
      const { output } = await bundle.generate({ minify: true, codeSplitting: false });
      const code = output[0].code;
      const hash = createHash("sha256").update(code).digest("hex").slice(0, 12);
      for (const name of ["widget", `widget-${hash}`])
        this.emitFile({ type: "asset", fileName: `sdk/${name}.js`, source: code });
    },
  };
}
