import { expect, test } from "vitest";

import { firstWords } from "../../src/text/clean.ts";
import { rowHeight, rows } from "../../src/inbox/groups.ts";
import { headline } from "../../src/text/names.ts";
import { between, since } from "../../src/text/time.ts";
import type { Question } from "../../src/api.ts";

test("spans are said in the words of a list", () => {
  const now = Date.parse("2026-11-15T12:00:00Z");
  expect(
    [
      "2026-11-15T11:59:59.500Z",
      "2026-11-15T11:59:20Z",
      "2026-11-15T11:20:00Z",
      "2026-11-15T09:30:00Z",
      "2026-11-12T12:00:00Z",
      "2026-11-15T12:00:05Z",
    ].map((at) => since(at, now)),
  ).toEqual(["now", "40 s", "40 min", "2 h 30 min", "3 days", "now"]);
  expect(between("2026-11-15T11:59:59.500Z", "2026-11-15T12:00:00Z")).toBe("500 ms");
});

test("groups stand in the order of their oldest question", () => {
  const asked = (id: string, cwd: string): Question =>
    ({ id, kind: "choice", context: { cwd }, questions: [{ question: "?" }] }) as unknown as Question;
  const list = rows([asked("1", "/a/shop"), asked("2", "/a/blog/"), asked("3", "/a/shop")], "project");
  expect(list.map((row) => (row.kind === "group" ? `${row.name} ${row.count}` : row.question.id))).toEqual([
    "shop 2",
    "1",
    "3",
    "blog 1",
    "2",
  ]);
});

test("the first words are one line", () => {
  expect(firstWords("  one\n two  ")).toBe("one two");
  expect(firstWords("x".repeat(300), 10)).toBe(`${"x".repeat(9)}…`);
});

test("a form is called by what stands above its fields", () => {
  const form = (key: string | null, kind = "form"): Question =>
    ({
      kind,
      questions: [
        { question: "name", key },
        { question: "age", key: "age" },
      ],
      body: { format: "text", text: "\nTell me about yourself.\nAll of it." },
    }) as unknown as Question;
  expect(headline(form("name"))).toBe("Tell me about yourself.");
  expect([form("$result"), form(null), form("name", "choice")].map(headline)).toEqual(["name", "name", "name"]);
});

test("a row says folder and host where its group does not, and is as high as its words", () => {
  const context = { cwd: "/a/shop", title: "Add sign-in", host: "laptop" };
  const long = {
    id: "1",
    kind: "plan",
    agent: "claude",
    context,
    questions: [{ question: "Is this plan for the sign-in right?" }],
  } as unknown as Question;
  const short = {
    ...long,
    id: "2",
    kind: "choice",
    context: { ...context, host: null },
    questions: [{ question: "Which way?" }],
  } as unknown as Question;
  const places = (grouping: "project" | "agent") =>
    rows([long, short], grouping).flatMap((row) => (row.kind === "question" ? [row.place] : []));
  expect(places("project")).toEqual(["on laptop", ""]);
  expect(places("agent")).toEqual(["shop on laptop", "shop"]);
  expect(rows([long, short], "project").map(rowHeight)).toEqual([34, 108, 68]);
});
