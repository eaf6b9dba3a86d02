import { beforeEach, expect, test, vi } from "vitest";

import type { Question } from "../../src/api.ts";
import { KeptDraft } from "../../src/state/drafts.ts";

const asked = {
  id: "que_1",
  questions: [
    { question: "?", options: [], multiple: false, custom: true, secret: false, required: false },
    { question: "pin?", options: [], multiple: false, custom: true, secret: true, required: false, default: ["1234"] },
  ],
} as unknown as Question;

beforeEach(() => {
  const stored = new Map<string, string>();
  vi.stubGlobal("localStorage", {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => void stored.set(key, value),
    removeItem: (key: string) => void stored.delete(key),
  });
});

test("a tab in which nothing was changed neither overwrites nor forgets what another tab has stored", () => {
  const [one, two] = [new KeptDraft(asked), new KeptDraft(asked)];
  const [typed, untouched] = [one.load(), two.load()];
  typed.items[0]!.other = "two hundred words";
  one.save(typed);
  two.save(untouched);
  two.drop();
  expect(new KeptDraft(asked).load().items[0]!.other).toBe("two hundred words");
  expect(two.isChanged(untouched)).toBe(false);
  expect(two.load().items[0]!.other).toBe("two hundred words");
  one.drop();
  expect(new KeptDraft(asked).load().items[0]!.other).toBe("");
});

test("a secret is never stored, and the one that the asker suggests is there again after a reload", () => {
  const kept = new KeptDraft(asked);
  const draft = kept.load();
  expect(draft.items[1]!.other).toBe("1234");
  draft.items[1]!.other = "hunter2";
  draft.items[0]!.other = "words";
  kept.save(draft);
  expect(localStorage.getItem("askd.draft.que_1")).not.toMatch(/hunter2|1234/);
  expect(new KeptDraft(asked).load().items.map(({ other }) => other)).toEqual(["words", "1234"]);
});
