import { expect, test } from "vitest";

import table from "../../../tests/answers.json?raw";
import type { Item, Question } from "../../src/api.ts";
import {
  answerOf,
  emptyDraft,
  type Given,
  type ItemDraft,
  itemDraft,
  ownText,
  pick,
  pickOther,
  requiredMissing,
  toReply,
  typedText,
  unanswered,
  withoutSecrets,
} from "../../src/answer/draft.ts";
import { boundsWords, errorWords, pickWords } from "../../src/answer/bounds.ts";
import { indexOf, keyOf } from "../../src/answer/keys.ts";
import { needsTabs } from "../../src/answer/layout.ts";
import { isOlder } from "../../src/answer/newer.ts";
import { isOurs } from "../../src/answer/rescue.ts";
import { keyState } from "../../src/answer/stand.ts";

function item(given: Partial<Item>): Item {
  return {
    question: "?",
    header: null,
    options: [],
    multiple: false,
    custom: true,
    secret: false,
    required: false,
    ...given,
  };
}

function options(...values: string[]): Item["options"] {
  return values.map((value) => ({ label: value.toUpperCase(), value, description: null, preview: null }));
}

const picked = (...picks: string[]): Given => ({ picks, words: [] });
const own = (...words: string[]): Given => ({ picks: [], words });

function question(...questions: Item[]): Question {
  return {
    id: "que_1",
    sessionId: null,
    agent: "api",
    kind: "choice",
    questions,
    context: { cwd: null, title: null, excerpt: null },
    tool: null,
    rejectModes: ["decline"],
    status: "requested",
    outcome: null,
    delivery: null,
    createdAt: "2026-11-15T07:00:00.000Z",
    seq: 1,
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
  expect(toReply(asked, draft)).toEqual({
    answers: [picked("b"), { picks: ["a", "c"], words: ["own words"] }],
    notes: [null, "because"],
  });
});

test("Other without words is no answer, and words without Other are kept but not sent", () => {
  const one = item({ options: options("a") });
  const draft = itemDraft(emptyDraft(question(one)), 0);
  pickOther(one, draft, true);
  expect(answerOf(one, draft)).toEqual(own());
  draft.other = "mine";
  expect(answerOf(one, draft)).toEqual(own("mine"));
  pick(one, draft, one.options[0]!);
  expect(answerOf(one, draft)).toEqual(picked("a"));
  expect(draft.other).toBe("mine");
});

test("defaults of fields are filled in and those of options are not picked, fields are trimmed where that is safe, and dates become moments", () => {
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
  expect(toReply(asked, draft).answers).toEqual([
    own(),
    own("9"),
    own(new Date("2026-11-15T08:30").toISOString()),
    own("  two\n lines "),
  ]);
});

test("a list without options takes one value a line, and its default is all of its values", () => {
  const files = item({ multiple: true, input: "text", default: ["a.txt", "b, c.txt"] });
  const asked = question(files, item({ multiple: true, input: "integer" }));
  const draft = emptyDraft(asked);
  expect(draft.items[0]!.other).toBe("a.txt\nb, c.txt");
  draft.items[1]!.other = "80\n\n 443 \n";
  expect(toReply(asked, draft).answers).toEqual([own("a.txt", "b, c.txt"), own("80", "443")]);
  draft.items[0]!.other = "a.txt\nd.txt";
  expect(answerOf(files, draft.items[0]!)).toEqual(own("a.txt", "d.txt"));
  expect(typedText(asked, { ...emptyDraft(asked), reason: "" })).toBe("");
});

test("a default that nobody touched goes back byte for byte; one that was touched has the precision of its field", () => {
  const at = item({ input: "datetime", default: ["2026-11-15T07:00:30.250+01:00"] });
  const lines = item({ multiple: true, default: ["two\nlines", " spaced "] });
  const draft = emptyDraft(question(at, lines));
  expect(toReply(question(at, lines), draft).answers).toEqual([
    own("2026-11-15T07:00:30.250+01:00"),
    own("two\nlines", " spaced "),
  ]);
  expect(draft.items[0]!.other).toMatch(/:00:30\.250$/);
  draft.items[0]!.other = draft.items[0]!.other.replace(":30.250", ":31.250");
  expect(answerOf(at, draft.items[0]!)).toEqual(own("2026-11-15T06:00:31.250Z"));
  expect(emptyDraft(question(item({ input: "datetime", default: ["2026-11-15T07:00:00Z"] }))).items[0]!.other).toMatch(
    /T\d\d:\d\d$/,
  );
});

test("how many are wanted is said, of options and of lists", () => {
  const picks = (minItems?: number, maxItems?: number) =>
    pickWords(
      item({
        multiple: true,
        options: options("a", "b"),
        bounds: { minItems: minItems ?? null, maxItems: maxItems ?? null },
      }),
    );
  expect([picks(), picks(0), picks(2, 3), picks(2, 2), picks(1), picks(0, 3)]).toEqual([
    "Pick as many as you like.",
    "Pick as many as you like.",
    "Pick 2 to 3.",
    "Pick exactly 2.",
    "Pick at least 1.",
    "Pick at most 3.",
  ]);
  const ports = item({ multiple: true, input: "integer", bounds: { minItems: 2, minimum: 0 } });
  expect(boundsWords(ports)).toBe("At least 2, one a line. Each: a whole number, at least 0.");
  expect(boundsWords(item({ multiple: true }))).toBe("One a line.");
  expect(boundsWords(item({ input: "integer", bounds: { minimum: 1, maximum: 9 } }))).toBe("A whole number, 1 to 9.");
  const error = { field: "answers[0].words[1]", item: 0, code: "wrong_type", message: '"x" is not an integer' };
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
  expect(["1", "9", "a", "j", "k", "h", "l", "o", "n", "g", "s", "0", "Enter"].map(indexOf)).toEqual([
    0,
    8,
    9,
    null,
    null,
    null,
    null,
    null,
    null,
    null,
    null,
    null,
    null,
  ]);
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

test("an answer that came back as it was sent in every part is ours, any other is not, and a secret proves nothing", () => {
  const asked = question(item({ options: options("a") }), item({}));
  const shown = { picks: ["a"], labels: ["A"], words: [] };
  const answers = [shown, { picks: [], labels: [], words: ["x"] }];
  const base = {
    status: "answered",
    answers,
    withheld: [],
    notes: null,
    by: { surface: "web", actor: "owner" },
    cause: null,
    at: "",
    agentReceived: null,
  };
  const settled = (change: object): Question =>
    ({ ...asked, status: "answered", outcome: { ...base, ...change } }) as unknown as Question;
  const reply = { answers: [picked("a"), own("x")] };
  expect(isOurs(settled({}), { reply })).toBe(true);
  expect(isOurs(settled({ notes: [null, null] }), { reply })).toBe(true);
  expect(isOurs(settled({}), { reply: { answers: [picked("b"), own("x")] } })).toBe(false);
  // The label as own words is that option; the value as own words is not.
  expect(isOurs(settled({}), { reply: { answers: [own("A"), own("x")] } })).toBe(true);
  expect(isOurs(settled({}), { reply: { answers: [own("a"), own("x")] } })).toBe(false);
  expect(isOurs(settled({}), { reply: { ...reply, notes: ["but only to staging", null] } })).toBe(false);
  expect(isOurs(settled({}), { reply: { ...reply, editedPlan: "# one only" } })).toBe(false);
  expect(isOurs(settled({}), { reply: { ...reply, nextMode: "default" } })).toBe(false);
  expect(isOurs(settled({ answers: [shown, { picks: [], labels: [], words: [] }], withheld: [1] }), { reply })).toBe(
    false,
  );
  expect(isOurs(settled({}), { rejection: { mode: "decline" } })).toBe(false);
  expect(isOurs(settled({}), null)).toBe(false);
});

test("where a person stands is told by his own picks and words, never by what the asker suggests", () => {
  const asked = question(item({ options: options("a", "b"), default: ["b"] }), item({ default: ["8080"] }));
  const draft = emptyDraft(asked);
  const stand = (change: object = {}) =>
    keyState({
      question: asked,
      draft,
      sending: false,
      rejecting: false,
      pointedAt: [],
      left: false,
      inReview: false,
      ...change,
    });
  expect(stand()).toBe("open");
  expect(stand({ pointedAt: [0] })).toBe("skipping");
  draft.items[1]!.other = "9090";
  expect([stand(), stand({ pointedAt: [0] })]).toEqual(["partial", "asked"]);
  pick(asked.questions[0]!, draft.items[0]!, asked.questions[0]!.options[0]!);
  expect([stand({ left: true }), stand({ left: true, inReview: true })]).toEqual(["left", "review"]);
  expect([stand(), stand({ inReview: true }), stand({ rejecting: true }), stand({ sending: true })]).toEqual([
    "picked",
    "review",
    "refusing",
    "sending",
  ]);
  expect(stand({ question: { ...asked, status: "answered" } })).toBe("settled");
});

test("a response that was overtaken by the stream does not bring an older state back", () => {
  const asked = question(item({}));
  const at = (state?: "queued" | "sent" | "confirmed" | "failed"): Question => ({
    ...asked,
    status: "answered",
    delivery: state ? { state, attempts: 1, error: null, at: "" } : null,
  });
  expect(isOlder(asked, at())).toBe(true);
  expect(isOlder(at("queued"), at("confirmed"))).toBe(true);
  expect(isOlder(at("sent"), at("failed"))).toBe(true);
  expect(isOlder(at("confirmed"), at("sent"))).toBe(false);
  expect(isOlder(at("confirmed"), at("failed"))).toBe(false);
  expect(isOlder(at("queued"), at("queued"))).toBe(false);
});

/** An item as the hub shows it. */
function shown({ options, ...rest }: Record<string, unknown> & { options?: (string | object)[] }): Item {
  const choices = (options ?? []).map((option) =>
    typeof option === "string" ? { label: option, value: option } : option,
  );
  return item({ ...rest, options: choices as Item["options"] });
}

/** What a person does on the page to give this: he picks these options and types these words. */
function doneBy(one: Item, { picks = [], words = [] }: Partial<Given>): ItemDraft {
  const draft = itemDraft(emptyDraft(question(one)), 0);
  for (const value of picks) {
    const option = one.options.find((option) => option.value === value);
    if (option) pick(one, draft, option);
  }
  if (words.length === 0) return draft;
  draft.other = words.join("\n");
  if (one.options.length > 0) pickOther(one, draft, true);
  return draft;
}

test("what a person picks is sent as picks and what he types as words: the rows of the table of answers", () => {
  const { rows } = JSON.parse(table) as { rows: { name: string; item: object; given: Partial<Given> | string[] }[] };
  let seen = 0;
  for (const { name, item: asked, given } of rows) {
    const one = shown(asked as never);
    if (Array.isArray(given)) continue;
    const [picks, words] = [given.picks ?? [], given.words ?? []];
    // The page has no way to give the rest: it picks options that are there, once each, and takes own words where they are allowed.
    const values = one.options.map(({ value }) => value);
    const byHand =
      picks.every((value, i) => values.includes(value) && picks.indexOf(value) === i) &&
      (one.multiple || picks.length + words.length < 2) &&
      (one.custom || words.length === 0);
    if (!byHand) continue;
    seen += 1;
    const typed = (one.options.length > 0 ? words.map(ownText) : words).filter((text) => text.trim() !== "");
    expect(answerOf(one, doneBy(one, given)), name).toEqual({
      picks: values.filter((value) => picks.includes(value)),
      words: typed,
    });
  }
  expect(seen).toBeGreaterThan(15);
});

test("own words are never sent as an option's value, whatever they are", () => {
  const one = item({
    options: [
      { label: "One week", value: "1" },
      { label: "2", value: "0" },
      { label: "Delete them now", value: "2" },
    ] as Item["options"],
    multiple: true,
  });
  for (const text of ["1", "2", "0", "One week", "Delete them now"]) {
    expect(answerOf(one, doneBy(one, { words: [text] }))).toEqual(own(text));
    expect(answerOf(one, doneBy(one, { picks: ["1"], words: [text] }))).toEqual({ picks: ["1"], words: [text] });
  }
});

test("the first line of several keeps its indentation, and blanks around one line mean nothing", () => {
  const yaml = "  - name: a\n    run: b\n";
  const one = item({ options: options("x") });
  expect(answerOf(one, draftWith({ otherOn: true, other: yaml }))).toEqual(own("  - name: a\n    run: b"));
  expect(answerOf(one, draftWith({ otherOn: true, other: "  x y \n" }))).toEqual(own("x y"));
  const noted = { ...emptyDraft(question(one)), items: [draftWith({ picks: ["x"], note: yaml })] };
  expect(toReply(question(one), noted).notes).toEqual(["  - name: a\n    run: b"]);
});

function draftWith(given: Partial<ItemDraft>): ItemDraft {
  return { picks: [], otherOn: false, other: "", note: "", ...given };
}
