/** The examples run as a reader would run them, and the documents show them as they are. */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import type { AskdClient, Question } from "askd";

import { Hub } from "./support/hub.js";
import { ask, askedId, eventually } from "./support/tools.js";

let hub: Hub;
let client: AskdClient;
const running: Example[] = [];

before(async () => {
  hub = await Hub.start();
  client = hub.client();
});
after(async () => {
  running.forEach((example) => example.child.kill("SIGKILL"));
  await hub.remove();
});

class Example {
  readonly child: ChildProcess;
  readonly ended: Promise<number | null>;
  output = "";

  constructor(name: string, ...args: string[]) {
    const env = { ...process.env, ASKD_URL: hub.url, ASKD_TOKEN: hub.token };
    this.child = spawn(process.execPath, [`examples/${name}`, ...args], { env, stdio: "pipe" });
    for (const stream of [this.child.stdout, this.child.stderr])
      stream?.on("data", (piece: Buffer) => (this.output += piece.toString()));
    // Not "exit": what it said last may still be on its way then.
    this.ended = new Promise((resolve) => this.child.once("close", resolve));
    running.push(this);
  }

  says(text: string): Promise<unknown> {
    return eventually(() => this.output.includes(text));
  }
}

function open(agent: string): Promise<Question> {
  return eventually(async () => (await client.questions.list({ agent, status: "requested" }).page()).questions[0]);
}

test("ask", async () => {
  for (const decide of [
    { how: (id: string) => client.replyQuestion(id, [["Staging"]]), said: "deploying to staging" },
    {
      how: (id: string) => client.rejectQuestion(id, { reason: "too late today" }),
      said: "not deploying: too late today",
    },
  ]) {
    const example = new Example("ask.mjs");
    await decide.how((await open("release-script")).id);
    assert.equal(await example.ended, 0);
    assert.equal(example.output.trim(), decide.said);
  }
});

test("terminal-inbox", async () => {
  const first = await askedId(client, {
    questions: [{ question: "Colour?", options: ["Red", "Blue"] }, { question: "Name?" }],
  });
  const example = new Example("terminal-inbox.mjs");
  await example.says("2. Blue");
  example.child.stdin?.write("2\nZoe\n");
  await example.says("answered");
  assert.deepEqual((await client.questions.get(first)).outcome?.answers, [
    { picks: ["Blue"], labels: ["Blue"], words: [] },
    { picks: [], labels: [], words: ["Zoe"] },
  ]);
  assert.deepEqual((await client.questions.get(first)).outcome?.by.surface, "terminal");
  const second = await askedId(client, ask("Too slow?"));
  await example.says("Too slow?");
  await client.replyQuestion(second, [["yes"]]);
  example.child.stdin?.write("no\n");
  await example.says("owner was faster (api)");
  await askedId(client, ask("Still there?"));
  example.child.stdin?.end();
  assert.equal(await example.ended, 0);
});

test("terminal-inbox_is_safe_from_agents_text_asks_again_and_ends_with_its_input", async () => {
  for await (const left of client.questions.list({ status: "requested" })) await client.rejectQuestion(left.id);
  const evil = "\u001b]52;c;cm0gLXJm\u0007\u001b[2J\u202e";
  const id = await askedId(client, {
    questions: [
      { question: `Which?${evil}`, options: [{ label: `A${evil}`, value: "a", description: evil }], custom: false },
    ],
  });
  const example = new Example("terminal-inbox.mjs");
  await example.says("1. A");
  example.child.stdin?.write("nonsense\n");
  await eventually(() => example.output.split("1. A").length === 3);
  example.child.stdin?.write("1\n");
  await example.says("answered");
  assert.deepEqual((await client.questions.get(id)).outcome?.answers, [
    { picks: ["a"], labels: [`A${evil}`], words: [] },
  ]);
  // What is typed while nothing is asked does not answer what is asked next.
  example.child.stdin?.write("1\n");
  await example.says("nothing is asked");
  const next = await askedId(client, ask("Delete it?"));
  await example.says("Delete it?");
  assert.equal((await client.questions.get(next)).status, "requested");
  await client.rejectQuestion(next);
  example.child.stdin?.write("yes\n");
  await example.says("was faster");
  // Nothing is asked now.
  example.child.stdin?.end();
  assert.equal(await example.ended, 0);
  assert.doesNotMatch(example.output, /[\u001b\u0007\u202e]/);
});

test("log", async () => {
  const folder = mkdtempSync(join(tmpdir(), "askd-sdk-log-"));
  const cursor = join(folder, "cursor.txt");
  try {
    const first = new Example("log.mjs", cursor);
    const one = await askedId(client, ask("one"));
    await first.says(`question.requested ${one} requested`);
    await eventually(() => existsSync(cursor));
    first.child.kill("SIGTERM");
    assert.equal(await first.ended, 0);
    const two = await askedId(client, ask("two"));
    const second = new Example("log.mjs", cursor);
    await second.says(`question.requested ${two} requested`);
    assert.ok(!second.output.includes(one));
    second.child.kill("SIGTERM");
    assert.equal(await second.ended, 0);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("chat-call", async () => {
  const example = new Example("chat-call.mjs", "toolu_7", "Blue");
  const id = await askedId(client, ask("Colour?", { tool: { callId: "toolu_7" } }));
  assert.equal(await example.ended, 0);
  assert.equal(example.output.trim(), `answered ${id}, waiting for the agent`);
});

test("watch", async () => {
  const example = new Example("watch.mjs");
  await example.says(") live");
  const id = await askedId(client, ask("seen?"));
  await client.replyQuestion(id, [["yes"]]);
  await example.says(`${id} was answered by owner (api)`);
  example.child.kill("SIGTERM");
  assert.equal(await example.ended, 0);
});

test("the_documents_show_the_examples_as_they_are", () => {
  let shown = 0;
  for (const document of ["README.md", "../../docs/sdk-typescript.md"]) {
    const text = readFileSync(document, "utf8");
    for (const [, name, code] of text.matchAll(/<!-- (examples\/[\w-]+\.mjs) -->\n```js\n([\s\S]*?)```/g)) {
      assert.equal(code, readFileSync(name ?? "", "utf8"), `${document} shows another ${name}`);
      shown += 1;
    }
  }
  assert.ok(shown >= 5);
});
