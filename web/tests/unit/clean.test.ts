import { expect, test } from "vitest";

import { clean, firstWords } from "../../src/text/clean.ts";
import { safeLink } from "../../src/text/links.ts";
import { type Block, parseMarkdown } from "../../src/text/markdown.ts";

test("terminal sequences are taken out and hidden characters made visible", () => {
  expect(clean("\u001b[31mred\u001b[0m \u001b]8;;http://evil\u0007link\u001b]8;;\u001b\\ end")).toBe("red link end");
  expect(clean("\u009b2Jx\u001bcy\u001b(Bz")).toBe("xyz");
  expect(clean("safe\u202egnp.exe")).toBe("safe‹U+202E›gnp.exe");
  expect(clean("a\u0000b\u0007c\rd\r\ne\tf")).toBe("a␀b␇c\nd\ne\tf");
  expect(clean("\u001b]0;title that never ends")).toBe("");
  expect(clean("naïve 日本語 👩‍💻")).toBe("naïve 日本語 👩‍💻");
});

test("the first words are one line", () => {
  expect(firstWords("  one\n two  ")).toBe("one two");
  expect(firstWords("x".repeat(300), 10)).toBe(`${"x".repeat(9)}…`);
});

test("only links that cannot run code are links", () => {
  expect(safeLink("https://example.org/a")).toBe("https://example.org/a");
  expect(safeLink("mailto:a@b.org")).toBe("mailto:a@b.org");
  for (const bad of ["javascript:alert(1)", "JaVaScRiPt:alert(1)", "java\nscript:x", "data:text/html,x", "vbscript:x", "//evil", "/v1/questions", "#/x", "file:///etc/passwd", " javascript:x"]) {
    expect(safeLink(bad), bad).toBeNull();
  }
});

function kinds(blocks: Block[]): string {
  return JSON.stringify(blocks);
}

test("markdown becomes known nodes, and HTML in it stays text", () => {
  const blocks = parseMarkdown("# Hi\n\n<img src=x onerror=alert(1)>\n\n**b** `c` [l](https://x.org) [j](javascript:alert(1))\n\n- [x] done\n\n| a |\n|---|\n| <b>1</b> |");
  expect(blocks[0]).toEqual({ kind: "heading", level: 1, children: [{ kind: "text", text: "Hi" }] });
  expect(kinds(blocks)).toContain('"text":"<img src=x onerror=alert(1)>"');
  expect(kinds(blocks)).toContain('"href":"https://x.org/"');
  expect(kinds(blocks)).not.toContain('"href":"javascript');
  expect(kinds(blocks)).toContain('"checked":true');
  expect(kinds(blocks)).toContain('"text":"<b>"');
});

test("entities are decoded once and cannot smuggle control characters", () => {
  expect(parseMarkdown("a &lt;b&gt; &amp;lt; &#27;[31m &#x202e;x")).toEqual([
    { kind: "paragraph", children: [{ kind: "text", text: "a <b> &lt;  ‹U+202E›x" }] },
  ]);
});

test("hostile nesting and size cannot hang or break the page", () => {
  expect(() => parseMarkdown(`${"> ".repeat(2000)}deep`)).not.toThrow();
  expect(() => parseMarkdown("*".repeat(5000))).not.toThrow();
  expect(parseMarkdown("x".repeat(400_000))[0]?.kind).toBe("code");
});
