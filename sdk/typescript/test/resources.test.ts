/** Health, log-in, tokens, agents, sources, and a managed agent from its first word to its end. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";

import {
  AlreadySettledError,
  type AskdClient,
  AskdError,
  ForbiddenError,
  InvalidRequestError,
  NotFoundError,
  UnauthorizedError,
} from "askd";

import { Hub } from "./support/hub.js";
import { askedId, eventually, failure } from "./support/tools.js";

let hub: Hub;
let client: AskdClient;

before(async () => {
  hub = await Hub.start();
  client = hub.client();
});
after(async () => {
  // A managed agent outlives its hub: whatever still runs is ended here.
  try {
    for (const held of await client.sessions.held()) await client.sessions.end(held.sessionId);
    await eventually(async () => (await client.sessions.held()).every((held) => !held.alive));
  } finally {
    await hub.remove();
  }
});

test("health_needs_no_token", async () => {
  const health = await hub.client({ token: undefined }).health();
  assert.equal(health.status, "ok");
  assert.match(health.version, /^\d+\.\d+\.\d+/);
});

test("a_login_code_gives_a_token_once", async () => {
  const { code, url, expiresAt } = await client.tokens.loginCode();
  assert.equal(url, `${hub.url}/#login=${code}`);
  assert.ok(Date.parse(expiresAt) > Date.now());
  const page = hub.client({ token: undefined });
  const browser = hub.client({ token: await page.logIn(code), surface: "web" });
  const id = await askedId(client);
  const question = await browser.replyQuestion(id, [["A"]]);
  assert.deepEqual(question.outcome?.by, { surface: "web", actor: "browser" });
  const again = await failure(page.logIn(code));
  assert.ok(again instanceof UnauthorizedError && again.code === "invalid_code");
});

test("tokens_are_made_listed_and_revoked", async () => {
  const made = await client.tokens.create({ name: "phone", rights: ["answer"] });
  assert.match(made.token, /^askd_/);
  const listed = (await client.tokens.list()).find((token) => token.id === made.id);
  assert.deepEqual(listed, { id: made.id, name: "phone", rights: ["answer"], createdAt: made.createdAt });
  const phone = hub.client({ token: made.token });
  await phone.questions.list().page();
  assert.ok((await failure(phone.tokens.list())) instanceof ForbiddenError);
  await client.tokens.revoke(made.id);
  assert.ok((await failure(phone.questions.list().page())) instanceof UnauthorizedError);
  assert.ok((await failure(client.tokens.create({ name: "", rights: [] }))) instanceof InvalidRequestError);
});

test("agents_say_what_is_true_of_them", async () => {
  const mock = (await client.agents.list()).find((agent) => agent.name === "mock");
  assert.ok(mock);
  assert.ok(["proven", "declared", "no"].includes(mock.questions.state));
});

test("an_agent_is_started_asks_is_answered_and_ends", async () => {
  const session = await client.sessions.start({ agent: "mock", prompt: "question" });
  assert.ok(session.live && session.managed);
  assert.deepEqual((await client.sessions.get(session.id)).id, session.id);
  const question = await eventually(
    async () => (await client.questions.list({ session: session.id }).page()).questions[0],
  );
  assert.ok((await client.sessions.held()).some((held) => held.sessionId === session.id && held.alive));
  assert.notEqual(await client.questions.native(question.id), null);
  const value = question.questions[0]?.options[0]?.value ?? "";
  await client.replyQuestion(question.id, [[value]]);
  const types: string[] = [];
  for await (const event of client.events({ after: question.seq, filter: { session: session.id } })) {
    types.push(event.type);
    if (event.type === "question.delivered") {
      assert.equal(event.question.delivery?.state, "confirmed");
      break;
    }
  }
  assert.ok(types.includes("question.resolved"));

  await client.sessions.say(session.id, "hello there");
  const heard: string[] = [];
  for await (const entry of client.sessions.transcript(session.id, { raw: true })) {
    assert.ok(entry.voice !== "trimmed");
    heard.push(`${entry.voice}: ${entry.text}`);
    if (entry.text?.includes("you said: hello there")) break;
  }
  assert.ok(
    heard.some((line) => line.startsWith("question: ")),
    heard.join("\n"),
  );

  assert.ok(
    (await client.sources.list()).some((source) => source.id === session.sourceId && source.state === "connected"),
  );
  const ended = (async () => {
    const numbers: number[] = [];
    for await (const entry of client.sessions.transcript(session.id))
      if (entry.voice !== "trimmed") numbers.push(entry.number);
    return numbers;
  })();
  await client.sessions.end(session.id);
  const numbers = await ended;
  assert.deepEqual(
    numbers,
    numbers.map((_, i) => (numbers[0] ?? 0) + i),
  );
  assert.equal((await client.sessions.get(session.id)).live, false);
  assert.ok((await client.sessions.list({ live: false })).some((one) => one.id === session.id));
});

test("a_call_id_of_two_sessions_is_not_guessed_at_and_the_session_makes_it_exact", async () => {
  const sessions = await Promise.all([1, 2].map(() => client.sessions.start({ agent: "mock", prompt: "question" })));
  const questionOf = (session = "") =>
    eventually(async () => (await client.questions.list({ session }).page()).questions[0]);
  const [first, second] = [await questionOf(sessions[0]?.id), await questionOf(sessions[1]?.id)];
  const callId = first.tool?.callId ?? "";
  assert.equal(second.tool?.callId, callId);
  const [pick = "", other = ""] = first.questions[0]?.options.map((option) => option.value) ?? [];
  await client.replyQuestion(first.id, [[pick]]);
  for (const wait of [undefined, 5]) {
    const error = await failure(client.replyByCall(callId, [[other]], { wait }));
    assert.ok(error instanceof AskdError && error.code === "ambiguous_call", String(error));
  }
  assert.equal((await client.questions.get(second.id)).status, "requested");
  const late = await failure(client.replyByCall(callId, [[other]], { session: sessions[0]?.id }));
  assert.ok(late instanceof AlreadySettledError && late.question.id === first.id);
  const settled = await client.replyByCall(callId, [[other]], { session: sessions[1]?.id });
  assert.deepEqual([settled.id, settled.outcome?.answers?.[0]?.picks], [second.id, [other]]);
  for (const session of sessions) await client.sessions.end(session.id);
  // Also when nothing with the id is open any more, and the next session has not stored its question yet.
  const error = await failure(client.questions.byCall(callId, { wait: 5 }));
  assert.ok(error instanceof AskdError && error.code === "ambiguous_call");
});

test("a_detached_source_ends_its_session_and_cancels_its_question", async () => {
  const session = await client.sessions.start({ agent: "mock", prompt: "question" });
  const question = await eventually(
    async () => (await client.questions.list({ session: session.id }).page()).questions[0],
  );
  const held = (await client.sessions.held()).find((one) => one.sessionId === session.id);
  await client.sources.detach(session.sourceId);
  const settled = await client.questions.untilSettled(question.id);
  assert.equal(settled.status, "cancelled");
  // Detaching is no word to the agent: its process is ended by ending its session.
  await client.sessions.end(session.id);
  await eventually(() => !isRunning(held?.agentPid ?? 0) && !isRunning(held?.holderPid ?? 0));
});

test("a_server_is_attached_and_its_state_tells_whether_it_is_reached", async () => {
  const refused = await failure(client.sources.attach({ kind: "opencode", url: "127.0.0.1:4096" }));
  assert.ok(refused instanceof InvalidRequestError);
  assert.deepEqual(
    refused.errors.map(({ field }) => field),
    ["url"],
  );
  // Nothing listens on port 9: askd is attached, and goes on trying.
  const source = await client.sources.attach({ kind: "opencode", url: "http://127.0.0.1:9", password: "hunter2" });
  const listed = async () => (await client.sources.list()).find(({ id }) => id === source.id);
  const lost = await eventually(async () => {
    const found = await listed();
    return found?.state === "lost" ? found : undefined;
  });
  assert.doesNotMatch(JSON.stringify(lost), /hunter2/);
  await client.sources.detach(source.id);
  await eventually(async () => (await listed())?.state === "ended");
});

function isRunning(pid: number): boolean {
  try {
    const [, state] = /\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, "utf8")) ?? [];
    return state !== "Z";
  } catch {
    return false;
  }
}

test("what_cannot_be_started_says_why", async () => {
  const unknown = await failure(client.sessions.start({ agent: "nobody" }));
  assert.ok(unknown instanceof NotFoundError && /mock/.test(unknown.message), String(unknown));
  const never = await failure(client.sessions.say("ses_7ZZZZZZZZZZZZZZZZZZZZZZZZZ", "x"));
  assert.ok(never instanceof NotFoundError);
  const missing = await failure(client.sessions.transcript("ses_7ZZZZZZZZZZZZZZZZZZZZZZZZZ").next());
  assert.ok(missing instanceof NotFoundError);
  assert.ok((await failure(client.sessions.transcript("..").next())) instanceof AskdError);
});
