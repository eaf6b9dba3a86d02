import { expect, test } from "vitest";

import type { Item, Question } from "../../src/api.ts";
import { answerOf, emptyDraft, itemDraft, pick, pickOther, requiredMissing, toReply, typedText, unanswered, withoutSecrets } from "../../src/answer/draft.ts";
import { boundsWords, errorWords, pickWords } from "../../src/answer/bounds.ts";
import { indexOf, keyOf } from "../../src/answer/keys.ts";
import { needsTabs } from "../../src/answer/layout.ts";
import { isOlder } from "../../src/answer/newer.ts";
import { isOurs } from "../../src/answer/rescue.ts";

function item(given: Partial<Item>): Item {
  return { question: "?", header: null, options: [], multiple: false, custom: true, secret: false, required: false, ...given };
}

function options(...values: string[]): Item["options"] {
  return values.map((value) => ({ label: value.toUpperCase(), value, description: null, preview: null }));
}

function question(...questions: Item[]): Question {
  return {
    id: "que_1", sessionId: null, agent: "api", kind: "choice", questions, context: { cwd: null, title: null, excerpt: null },
    tool: null, rejectModes: ["decline"], status: "requested", outcome: null, delivery: null, createdAt: "2026-11-15T07:00:00.000Z", seq: 1,
  };
}

test("one pick replaces another, several add up in the order of the options", () => {
  const [one, many] = [item({ options: options("a", "b") }), item({ options: options("a", "b", "c"), multiple: true })];
  const asked = question(one, many);
  const draft = emptyDraft(asked);
  pick(one, draft.items[0]!, one.options[0]!);
  pick(one, draft.items[0]!, one.options[1]!);
  pick(many, draft.items[1]!, many.options[2]!);
  pick(many, draft.items[1]!, many.options[0]!);
  draft.items[1]!.other = " own words ";
  pickOther(many, draft.items[1]!, true);
  draft.items[1]!.note = "because";
  expect(toReply(asked, draft)).toEqual({ answers: [["b"], ["a", "c", "own words"]], notes: [null, "because"] });
});

test("Other without words is no answer, and words without Other are kept but not sent", () => {
  const one = item({ options: options("a") });
  const draft = itemDraft(emptyDraft(question(one)), 0);
  pickOther(one, draft, true);
  expect(answerOf(one, draft)).toEqual([]);
  draft.other = "mine";
  expect(answerOf(one, draft)).toEqual(["mine"]);
  pick(one, draft, one.options[0]!);
  expect(answerOf(one, draft)).toEqual(["a"]);
  expect(draft.other).toBe("mine");
});

test("defaults are filled in, fields are trimmed where that is safe, and dates become moments", () => {
  const asked = question(
    item({ options: options("a", "b"), default: ["B"] }),
    item({ input: "integer", default: ["8080"] }),
    item({ input: "datetime" }),
    item({ input: "multiline" }),
  );
  const draft = emptyDraft(asked);
  draft.items[1]!.other = " 9 ";
  draft.items[2]!.other = "2026-11-15T08:30";
  draft.items[3]!.other = "  two\n lines ";
  expect(toReply(asked, draft).answers).toEqual([["b"], ["9"], [new Date("2026-11-15T08:30").toISOString()], ["  two\n lines "]]);
});

test("a list without options takes one value a line, and its default is all of its values", () => {
  const files = item({ multiple: true, input: "text", default: ["a.txt", "b, c.txt"] });
  const asked = question(files, item({ multiple: true, input: "integer" }));
  const draft = emptyDraft(asked);
  expect(draft.items[0]!.other).toBe("a.txt\nb, c.txt");
  draft.items[1]!.other = "80\n\n 443 \n";
  expect(toReply(asked, draft).answers).toEqual([["a.txt", "b, c.txt"], ["80", "443"]]);
  draft.items[0]!.other = "a.txt\nd.txt";
  expect(answerOf(files, draft.items[0]!)).toEqual(["a.txt", "d.txt"]);
  expect(typedText(asked, { ...emptyDraft(asked), reason: "" })).toBe("");
});

test("a default that nobody touched goes back byte for byte; one that was touched has the precision of its field", () => {
  const at = item({ input: "datetime", default: ["2026-11-15T07:00:30.250+01:00"] });
  const lines = item({ multiple: true, default: ["two\nlines", " spaced "] });
  const draft = emptyDraft(question(at, lines));
  expect(toReply(question(at, lines), draft).answers).toEqual([["2026-11-15T07:00:30.250+01:00"], ["two\nlines", " spaced "]]);
  expect(draft.items[0]!.other).toMatch(/:00:30\.250$/);
  draft.items[0]!.other = draft.items[0]!.other.replace(":30.250", ":31.250");
  expect(answerOf(at, draft.items[0]!)).toEqual(["2026-11-15T06:00:31.250Z"]);
  expect(emptyDraft(question(item({ input: "datetime", default: ["2026-11-15T07:00:00Z"] }))).items[0]!.other).toMatch(/T\d\d:\d\d$/);
});

test("how many are wanted is said, of options and of lists", () => {
  const picks = (minItems?: number, maxItems?: number) => pickWords(item({ multiple: true, options: options("a", "b"), bounds: { minItems: minItems ?? null, maxItems: maxItems ?? null } }));
  expect([picks(), picks(0), picks(2, 3), picks(2, 2), picks(1), picks(0, 3)]).toEqual([
    "Pick as many as you like.", "Pick as many as you like.", "Pick 2 to 3.", "Pick exactly 2.", "Pick at least 1.", "Pick at most 3.",
  ]);
  const ports = item({ multiple: true, input: "integer", bounds: { minItems: 2, minimum: 0 } });
  expect(boundsWords(ports)).toBe("At least 2, one a line. Each: a whole number, at least 0.");
  expect(boundsWords(item({ multiple: true }))).toBe("One a line.");
  expect(boundsWords(item({ input: "integer", bounds: { minimum: 1, maximum: 9 } }))).toBe("A whole number, 1 to 9.");
  const error = { field: "answers[0][1]", item: 0, code: "wrong_type", message: '"x" is not an integer' };
  expect(errorWords(ports, error)).toBe('Value 2: "x" is not an integer');
});

test("what is missing is known, and what must be there is said", () => {
  const asked = question(item({ required: true }), item({}));
  const draft = emptyDraft(asked);
  expect(unanswered(asked, draft)).toEqual([0, 1]);
  expect(requiredMissing(asked, draft).map(({ item: i, code }) => [i, code])).toEqual([[0, "required"]]);
});

test("secrets are neither kept nor rescued; all other typed words are", () => {
  const asked = question(item({ secret: true }), item({ options: options("a") }), item({ default: ["8080"] }));
  const draft = emptyDraft(asked);
  draft.items[0]!.other = "hunter2";
  draft.items[1]!.other = "words";
  draft.items[1]!.note = "note";
  expect(typedText(asked, draft)).toBe("words\n\nnote");
  expect(JSON.stringify(withoutSecrets(asked, draft))).not.toContain("hunter2");
});

test("keys pick by digit, then by letters that no command uses", () => {
  expect([0, 8, 9, 13, 25].map(keyOf)).toEqual(["1", "9", "a", "e", "z"]);
  expect(["1", "9", "a", "j", "k", "h", "l", "o", "n", "g", "s", "0", "Enter"].map(indexOf)).toEqual([0, 8, 9, null, null, null, null, null, null, null, null, null, null]);
});

test("items that fit one screen are sections, others are tabs", () => {
  const small = item({ options: options("a", "b") });
  expect(needsTabs(question(small))).toBe(false);
  expect(needsTabs(question(small, small))).toBe(false);
  expect(needsTabs(question(small, small, small, small, small))).toBe(true);
  const previewed = item({ options: [{ label: "A", value: "a", description: null, preview: "x" }] });
  expect(needsTabs(question(previewed, small))).toBe(true);
  expect(needsTabs({ ...question(previewed, small), kind: "form" })).toBe(false);
});

test("an answer that came back as it was sent is ours, any other is not", () => {
  const asked = question(item({ options: options("a") }), item({ secret: true }));
  const outcome = { status: "answered", answers: [["a"], []], withheld: [1], notes: null, by: { surface: "web", actor: "owner" }, cause: null, at: "", agentReceived: null } as const;
  const settled = { ...asked, status: "answered", outcome: { ...outcome, answers: [["a"], []], withheld: [1] } } as Question;
  expect(isOurs(settled, { reply: { answers: [["a"], ["secret"]] } })).toBe(true);
  expect(isOurs(settled, { reply: { answers: [["b"], ["secret"]] } })).toBe(false);
  expect(isOurs(settled, { rejection: { mode: "decline" } })).toBe(false);
  expect(isOurs(settled, null)).toBe(false);
});

test("a response that was overtaken by the stream does not bring an older state back", () => {
  const asked = question(item({}));
  const at = (state?: "queued" | "sent" | "confirmed" | "failed"): Question => ({ ...asked, status: "answered", delivery: state ? { state, attempts: 1, error: null, at: "" } : null });
  expect(isOlder(asked, at())).toBe(true);
  expect(isOlder(at("queued"), at("confirmed"))).toBe(true);
  expect(isOlder(at("sent"), at("failed"))).toBe(true);
  expect(isOlder(at("confirmed"), at("sent"))).toBe(false);
  expect(isOlder(at("confirmed"), at("failed"))).toBe(false);
  expect(isOlder(at("queued"), at("queued"))).toBe(false);
});
