/** Every method on questions, against a real hub. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import {
  type AskdClient,
  AskdError,
  AlreadySettledError,
  ForbiddenError,
  InvalidAnswerError,
  InvalidRequestError,
  NotFoundError,
  UnauthorizedError,
} from "askd";

import { Hub } from "./support/hub.js";
import { ask, askedId, failure, WHICH } from "./support/tools.js";

let hub: Hub;
let client: AskdClient;

before(async () => {
  hub = await Hub.start();
  client = hub.client({ surface: "terminal" });
});
after(() => hub.remove());

test("a_reply_is_stored_with_who_and_where", async () => {
  const id = await askedId(client);
  const question = await client.replyQuestion(id, [["Bee"]], { notes: ["because"] });
  assert.equal(question.status, "answered");
  assert.deepEqual(question.outcome?.answers, [{ picks: ["b"], labels: ["Bee"], words: [] }]);
  assert.deepEqual(question.outcome?.notes, ["because"]);
  assert.deepEqual(question.outcome?.by, { surface: "terminal", actor: "owner" });
  assert.deepEqual(await client.questions.get(id), question);
});

test("a_plan_takes_edits_and_a_next_mode", async () => {
  const plan = {
    ...ask("Is it right?"),
    kind: "plan" as const,
    nextModes: ["edit", "ask"],
    body: { format: "markdown" as const, text: "# Plan" },
  };
  const id = await askedId(client, plan);
  const question = await client.replyQuestion(id, [["approve"]], { editedPlan: "# Better plan", nextMode: "edit" });
  assert.equal(question.outcome?.editedPlan, "# Better plan");
  assert.equal(question.outcome?.nextMode, "edit");
});

test("the_same_answer_again_succeeds_and_another_one_names_the_winner", async () => {
  const id = await askedId(client);
  await client.replyQuestion(id, [["A"]]);
  assert.equal((await client.replyQuestion(id, [["A"]])).status, "answered");
  const error = await failure(client.replyQuestion(id, [["b"]]));
  assert.ok(error instanceof AlreadySettledError && error instanceof AskdError);
  assert.equal(error.code, "already_settled");
  assert.equal(error.status, 409);
  assert.equal(error.question.id, id);
  assert.deepEqual(error.outcome.answers, [{ picks: ["A"], labels: ["A"], words: [] }]);
  assert.deepEqual(error.by, { surface: "terminal", actor: "owner" });
  assert.ok((await failure(client.rejectQuestion(id))) instanceof AlreadySettledError);
});

test("an_answer_that_does_not_fit_says_which_item", async () => {
  const questions = [...WHICH.questions, { question: "How many?", input: "integer" as const, required: true }];
  const id = await askedId(client, { kind: "form", questions });
  const error = await failure(client.replyQuestion(id, [["Z"], ["many"]]));
  assert.ok(error instanceof InvalidAnswerError);
  assert.deepEqual(
    error.errors.map((one) => [one.field, one.item, one.code]),
    [
      ["answers[0][0]", 0, "unknown_option"],
      ["answers[1][0]", 1, "wrong_type"],
    ],
  );
  assert.equal(error.ofItem(1).length, 1);
  assert.equal(error.problem?.status, 400);
  assert.equal((await client.questions.get(id)).status, "requested");
});

test("a_rejection_carries_mode_and_reason", async () => {
  const id = await askedId(client, { ...WHICH, rejectModes: ["decline", "interrupt"] });
  const error = await failure(client.rejectQuestion(id, { mode: "cancel" }));
  assert.ok(error instanceof InvalidAnswerError);
  const question = await client.rejectQuestion(id, { mode: "interrupt", reason: "not now" });
  assert.equal(question.status, "rejected");
  assert.deepEqual([question.outcome?.mode, question.outcome?.reason], ["interrupt", "not now"]);
  assert.equal((await client.rejectQuestion(await askedId(client))).outcome?.mode, "decline");
});

test("only_the_asker_withdraws", async () => {
  const other = await hub.clientWith("other", ["ask", "read"]);
  const id = await askedId(client);
  assert.ok((await failure(other.withdraw(id))) instanceof NotFoundError);
  const question = await client.withdraw(id, { reason: "found it myself" });
  assert.deepEqual(question.outcome?.cause, { type: "askerWithdrew", reason: "found it myself" });
});

test("a_list_pages_in_both_orders_and_filters", async () => {
  const ids: string[] = [];
  for (let i = 0; i < 7; i += 1) ids.push(await askedId(client, ask(`number ${i}`, { agent: "lister" })));
  await client.replyQuestion(ids[3] ?? "", [["done"]]);
  const listed = async (filter: object) => {
    const found: string[] = [];
    for await (const question of client.questions.list({ agent: "lister", limit: 3, ...filter }))
      found.push(question.id);
    return found;
  };
  assert.deepEqual(await listed({ order: "asc" }), ids);
  assert.deepEqual(await listed({}), [...ids].reverse());
  assert.deepEqual(await listed({ status: "answered" }), [ids[3]]);
  const listing = client.questions.list({ agent: "lister", order: "asc", limit: 5 });
  const first = await listing.page();
  assert.equal(first.questions.length, 5);
  assert.ok(first.seq >= 8 && first.nextCursor);
  const second = await listing.page(first.nextCursor);
  assert.deepEqual(
    second.questions.map((question) => question.id),
    ids.slice(5),
  );
  assert.equal(second.nextCursor, null);
  assert.ok((await failure(client.questions.list({ limit: 0 }).page())) instanceof InvalidRequestError);
  assert.ok((await failure(listing.page("nonsense"))) instanceof InvalidRequestError);
});

test("a_call_id_leads_to_its_question", async () => {
  const id = await askedId(client, ask("by call?", { tool: { callId: "toolu_1" } }));
  assert.equal((await client.questions.byCall("toolu_1"))?.id, id);
  assert.equal((await client.replyByCall("toolu_1", [["yes"]])).id, id);
  assert.ok((await failure(client.replyByCall("toolu_1", [["no"]]))) instanceof AlreadySettledError);
  assert.equal(await client.questions.byCall("toolu_unknown"), null);
  assert.ok((await failure(client.replyByCall("toolu_unknown", [["x"]]))) instanceof NotFoundError);
});

test("a_call_that_is_seen_before_its_question_is_waited_for", async () => {
  const answer = client.replyByCall("toolu_late", [["in time"]], { wait: 20 });
  const id = await askedId(client, ask("late?", { tool: { callId: "toolu_late" } }));
  assert.equal((await answer).id, id);
  assert.equal(await client.questions.byCall("toolu_never", { wait: 0.05 }), null);
  const giveUp = AbortSignal.timeout(50);
  assert.equal(await failure(client.questions.byCall("toolu_never", { wait: 20, signal: giveUp })), giveUp.reason);
});

test("two_open_questions_of_one_call_id_are_not_guessed_between", async () => {
  const first = await askedId(client, ask("one?", { tool: { callId: "toolu_twin" } }));
  const second = await askedId(client, ask("two?", { tool: { callId: "toolu_twin" } }));
  const error = await failure(client.replyByCall("toolu_twin", [["x"]]));
  assert.ok(error instanceof AskdError && error.code === "ambiguous_call");
  await client.replyQuestion(first, [["one"]]);
  assert.equal((await client.replyByCall("toolu_twin", [["two"]])).id, second);
});

test("the_native_words_of_an_api_question_are_null", async () => {
  assert.equal(await client.questions.native(await askedId(client)), null);
});

test("rights_and_tokens_are_typed_errors", async () => {
  const asker = await hub.clientWith("asker", ["ask"]);
  const id = await askedId(asker);
  const forbidden = await failure(asker.replyQuestion(id, [["A"]]));
  assert.ok(forbidden instanceof ForbiddenError && forbidden.status === 403 && forbidden.code === "forbidden");
  assert.ok((await failure(asker.questions.list().page())) instanceof ForbiddenError);
  const stranger = hub.client({ token: "askd_wrong" });
  assert.ok((await failure(stranger.questions.get(id))) instanceof UnauthorizedError);
  assert.ok((await failure(hub.client({ token: undefined }).questions.get(id))) instanceof UnauthorizedError);
});

test("hostile_ids_are_not_found_and_reach_no_other_address", async () => {
  const ids = [
    "",
    ".",
    "..",
    "../tokens",
    "../../v1/tokens",
    "%2e%2e",
    "..%2f",
    "que_",
    "a/b",
    "a?wait=1",
    "a#b",
    "\\",
    "\0",
    "é😀",
    "\uD800",
    "x".repeat(5000),
    "que_7ZZZZZZZZZZZZZZZZZZZZZZZZZ",
  ];
  for (const id of ids) {
    const tries = [
      () => client.questions.get(id),
      () => client.replyQuestion(id, [["A"]]),
      () => client.rejectQuestion(id),
      () => client.withdraw(id),
      () => client.sessions.get(id),
      () => client.tokens.revoke(id),
      () => client.sources.detach(id),
    ];
    for (const attempt of tries) {
      const error = await failure(attempt());
      assert.ok(error instanceof NotFoundError, `${JSON.stringify(id)} gave ${String(error)}`);
    }
  }
  assert.equal(await client.questions.byCall("../?a=b&limit=500#"), null);
});

test("hostile_text_comes_back_as_it_went", async () => {
  const text =
    "\u0000\u0007\u001b[31m <script>alert(1)</script> \u202e 😀 \r\n\r\ndata: x\n\nid: 99\n\n \u2028\u2029 'quote\"";
  const id = await askedId(client, { questions: [{ question: text, header: text }] });
  const question = await client.replyQuestion(id, [[text]], { notes: [text] });
  assert.equal(question.questions[0]?.question, text);
  assert.deepEqual(question.outcome?.answers, [{ picks: [], labels: [], words: [text] }]);
  const page = await client.questions.list({ limit: 1 }).page();
  for await (const event of client.events({ after: page.seq - 1 })) {
    assert.ok("question" in event && event.question.outcome?.answers?.[0]?.words[0] === text);
    break;
  }
});
