/** Many repliers, one question: one wins, and the others learn who. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { AlreadySettledError } from "askd";

import { Hub } from "./support/hub.js";
import { askedId, WHICH } from "./support/tools.js";

let hub: Hub;

before(async () => {
  hub = await Hub.start();
});
after(() => hub.remove());

test("of_two_repliers_one_wins_and_the_other_learns_who", async () => {
  const [ann, bob] = await Promise.all([
    hub.clientWith("ann", ["answer"], { surface: "web" }),
    hub.clientWith("bob", ["answer"], { surface: "cli" }),
  ]);
  const names = new Map([
    ["ann", "A"],
    ["bob", "b"],
  ]);
  const winners = new Set<string>();
  for (let round = 0; round < 40; round += 1) {
    const id = await askedId(hub.client());
    const replies =
      round % 2 === 0
        ? [ann.replyQuestion(id, [["A"]]), bob.replyQuestion(id, [["b"]])]
        : [bob.replyQuestion(id, [["b"]]), ann.replyQuestion(id, [["A"]])];
    const results = await Promise.allSettled(replies);
    const won = results.filter((result) => result.status === "fulfilled");
    const lost = results.filter((result) => result.status === "rejected");
    assert.deepEqual([won.length, lost.length], [1, 1]);
    const winner = won[0]?.value.outcome;
    const error = lost[0]?.reason as unknown;
    assert.ok(error instanceof AlreadySettledError);
    assert.deepEqual(error.outcome, winner);
    assert.deepEqual(error.by, { surface: winner?.by.actor === "ann" ? "web" : "cli", actor: winner?.by.actor });
    assert.deepEqual(error.outcome.answers?.[0]?.picks, [names.get(error.by.actor ?? "")]);
    assert.match(error.message, new RegExp(`answered by ${error.by.actor}`));
    winners.add(error.by.actor ?? "");
  }
  assert.ok(winners.size > 0);
});

test("fifty_equal_answers_at_once_are_one_answer", async () => {
  const client = hub.client();
  const id = await askedId(client, WHICH);
  const questions = await Promise.all(Array.from({ length: 50 }, () => client.replyQuestion(id, [["A"]])));
  assert.equal(new Set(questions.map((question) => question.outcome?.at)).size, 1);
});
