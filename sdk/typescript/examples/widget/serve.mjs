// Serves this package on a port of its own, as somebody else's page would be: npm run build && node examples/widget/serve.mjs
import { createReadStream, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
};

const server = createServer((request, response) => {
  const path = normalize(decodeURIComponent(new URL(request.url ?? "/", "http://page").pathname));
  const file = join(ROOT, path.endsWith("/") ? `${path}index.html` : path);
  const type = TYPES[/** @type {keyof typeof TYPES} */ (extname(file))];
  const known =
    /^\/(dist|examples\/widget)\//.test(path) && type && statSync(file, { throwIfNoEntry: false })?.isFile();
  if (!known) return void response.writeHead(404).end();
  // As strict as a careful page is: the widget needs neither inline style nor inline script.
  response.writeHead(200, {
    "content-type": type,
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src *",
  });
  createReadStream(file).pipe(response);
});
server.listen(Number(process.env.PORT ?? 8753), "127.0.0.1", () => {
  const address = server.address();
  const origin = `http://127.0.0.1:${address && typeof address === "object" ? address.port : ""}`;
  console.log(`${origin}/examples/widget/`);
  console.log(`the hub must allow it: askd up --allow-origin ${origin}`);
});
