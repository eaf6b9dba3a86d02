// Every event once, also over restarts of this program: the cursor is kept in a file: node examples/log.mjs cursor.txt
import { readFileSync, writeFileSync } from "node:fs";
import { AskdClient } from "askd";

const askd = new AskdClient({ url: process.env.ASKD_URL, token: process.env.ASKD_TOKEN });
const file = process.argv[2] ?? "cursor.txt";
const ending = new AbortController();
process.once("SIGINT", () => ending.abort());
process.once("SIGTERM", () => ending.abort());

let after = 0;
try {
  after = Number(readFileSync(file, "utf8"));
} catch {
  console.error("no cursor yet: from the beginning");
}

for await (const event of askd.events({ after, signal: ending.signal })) {
  if (event.type === "log.trimmed") {
    console.error(`events up to ${event.through} are no longer kept`);
    continue;
  }
  const about = "question" in event ? `${event.question.id} ${event.question.status}` : event.session.id;
  console.log(`${event.seq} ${event.type} ${about}`);
  writeFileSync(file, String(event.seq));
}
