/** The table of what a key does to a question: page and widget run it through this function, the terminal through one of its own. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { keyEffect, type KeyEffect, type KeyPress, READ_MS, SETTLE_MS } from "askd/keys";

interface Row extends KeyPress {
  on?: string[];
  effect: KeyEffect;
}

interface Table {
  settleMs: number;
  readMs: number;
  states: Record<string, string>;
  focuses: Record<string, string>;
  effects: Record<string, string>;
  rows: Row[];
}

const table = JSON.parse(readFileSync("../../tests/keys.json", "utf8")) as Table;
const mine = table.rows.filter(({ on }) => !on || on.includes("page") || on.includes("widget"));

test("every_row_of_the_table_of_keys_holds", () => {
  for (const row of mine) assert.equal(keyEffect(row), row.effect, JSON.stringify(row));
  assert.ok(mine.length > 50);
});

test("the_table_and_the_function_name_the_same_times_and_words", () => {
  assert.deepEqual([table.settleMs, table.readMs], [SETTLE_MS, READ_MS]);
  for (const { state, focus, effect } of table.rows) {
    assert.ok(state in table.states, state);
    assert.ok(focus === undefined || focus in table.focuses, focus);
    assert.ok(effect in table.effects, effect);
  }
});

test("without_an_own_pick_no_key_sends_whatever_the_gap", () => {
  const keys = ["Enter", "Ctrl+Enter", "held Enter", "1", "s", "Escape", "x"] as const;
  const focuses = [undefined, "option", "line", "lines", "control", "row", "other row", "outside"] as const;
  for (const key of keys)
    for (const focus of focuses)
      for (const plan of [undefined, "unread", "fits", "read"] as const)
        for (const since of [0, 60, 250, 600, 1500, 3_600_000])
          for (const state of ["open", "skipping"] as const)
            assert.notEqual(
              keyEffect({ state, key, focus, plan, since }),
              "send",
              `${state} ${key} ${focus} ${plan} ${since}`,
            );
});

test("nothing_sends_within_the_half_second_nor_by_a_held_key_nor_from_elsewhere_on_the_page", () => {
  const states = Object.keys(table.states) as KeyPress["state"][];
  for (const state of states)
    for (const plan of [undefined, "unread", "fits", "read"] as const) {
      for (const key of ["Enter", "Ctrl+Enter", "click"] as const)
        assert.notEqual(keyEffect({ state, key, plan, since: SETTLE_MS - 1, focus: "send" }), "send");
      for (const focus of [undefined, "option", "line", "lines", "send"] as const)
        assert.notEqual(keyEffect({ state, key: "held Enter", plan, focus, since: 60_000 }), "send");
      for (const focus of ["row", "other row", "outside"] as const)
        assert.notEqual(keyEffect({ state, key: "Enter", plan, focus, since: 60_000 }), "send");
    }
});
