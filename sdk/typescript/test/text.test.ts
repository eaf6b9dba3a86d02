/** Agents' text is hostile: what is shown shows what it says, and Markdown becomes known nodes only. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { type Block, clean, diffTone, type Inline, looksLikeMarkdown, parseMarkdown, safeLink } from "askd/text";

const text = (words: string): Inline => ({ kind: "text", text: words });
const paragraph = (...children: Inline[]): Block => ({ kind: "paragraph", children });
const line = (words: string): Block => paragraph(text(words));

/** The table that the command line runs as well. */
const table = JSON.parse(readFileSync("../../tests/hostile-text.json", "utf8")) as {
  hidden: [string, string][];
  rows: { text: string; shown: string }[];
};

test("hostile_text_is_shown_as_the_table_says", () => {
  for (const { text, shown } of table.rows) assert.equal(clean(text), shown, JSON.stringify(text));
});

test("each_character_that_is_drawn_as_nothing_is_shown_by_its_number", () => {
  const hidden = table.hidden.map(([first, last]) => [parseInt(first, 16), parseInt(last, 16)] as const);
  for (let code = 0xa0; code <= 0x10ffff; code++) {
    if ((code >= 0xd800 && code <= 0xdfff) || code === 0x2028 || code === 0x2029) continue;
    const character = String.fromCodePoint(code);
    const isHidden = hidden.some(([first, last]) => code >= first && code <= last);
    const shown = isHidden ? `a‹U+${code.toString(16).toUpperCase().padStart(4, "0")}›b` : `a${character}b`;
    if (clean(`a${character}b`) !== shown) assert.fail(`U+${code.toString(16)}`);
  }
});

test("only_links_that_cannot_run_code_are_links", () => {
  assert.equal(safeLink("https://example.org/a"), "https://example.org/a");
  assert.equal(safeLink("mailto:a@b.org"), "mailto:a@b.org");
  const bad = [
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "java\nscript:x",
    "data:text/html,x",
    "vbscript:x",
    "//evil",
    "/v1/questions",
    "#/x",
    "file:///etc/passwd",
    " javascript:x",
  ];
  for (const href of bad) assert.equal(safeLink(href), null, href);
});

test("html_in_markdown_stays_text_and_its_links_are_looked_at", () => {
  assert.deepEqual(parseMarkdown("<img src=x onerror=alert(1)>"), [line("<img src=x onerror=alert(1)>")]);
  assert.deepEqual(parseMarkdown("[go](javascript:alert(1)) ![x](/v1/questions)"), [
    line("go (javascript:alert(1)) x (/v1/questions)"),
  ]);
  assert.deepEqual(parseMarkdown("![a picture](https://x.org/a.png)"), [
    paragraph({ kind: "link", href: "https://x.org/a.png", children: [text("a picture")] }),
  ]);
  assert.deepEqual(parseMarkdown("[a]: javascript:alert(1)\n[ref][a]"), [
    paragraph(text("[a]: javascript:alert(1)"), { kind: "break" }, text("[ref][a]")),
  ]);
});

test("entities_are_decoded_once_and_cannot_smuggle_control_characters", () => {
  assert.deepEqual(parseMarkdown("a &lt;b&gt; &amp;lt; &#27;[31m &#x202e;x &bogus;"), [
    line("a <b> &lt; [31m ‹U+202E›x &bogus;"),
  ]);
});

test("what_is_inside_a_line", () => {
  assert.deepEqual(parseMarkdown("snake_case_name, *em*, ***both***, ~~gone~~, ~5, 2 * 3 * 4, \\*plain\\*"), [
    paragraph(
      text("snake_case_name, "),
      { kind: "em", children: [text("em")] },
      text(", "),
      { kind: "em", children: [{ kind: "strong", children: [text("both")] }] },
      text(", "),
      { kind: "del", children: [text("gone")] },
      text(", ~5, 2 * 3 * 4, *plain*"),
    ),
  ]);
  assert.deepEqual(parseMarkdown("`a` `` b`c `` `open"), [
    paragraph({ kind: "code", text: "a" }, text(" "), { kind: "code", text: "b`c" }, text(" `open")),
  ]);
  assert.deepEqual(parseMarkdown('[**a** b](<https://x.org/a b> "title") (see https://x.org/y_(z)).'), [
    paragraph(
      { kind: "link", href: "https://x.org/a%20b", children: [{ kind: "strong", children: [text("a")] }, text(" b")] },
      text(" (see "),
      { kind: "link", href: "https://x.org/y_(z)", children: [text("https://x.org/y_(z)")] },
      text(")."),
    ),
  ]);
});

test("a_plan_as_agents_write_it", () => {
  const plan =
    "# Plan #\n\n1. Add a table\n  - `users`\n    wide\n2. Send\n\n   ```sql\n   select\n   \t1;\n   ```\n\n- [x] agreed\n- [ ] chosen\n\n> Old ones\nstay.\n\nTwo\n---\n***";
  const item = (checked: boolean | null, ...children: Block[]): { checked: boolean | null; children: Block[] } => ({
    checked,
    children,
  });
  assert.deepEqual(parseMarkdown(plan), [
    { kind: "heading", level: 1, children: [text("Plan")] },
    {
      kind: "list",
      ordered: true,
      start: 1,
      items: [
        item(null, line("Add a table"), {
          kind: "list",
          ordered: false,
          start: 1,
          items: [item(null, paragraph({ kind: "code", text: "users" }, { kind: "break" }, text("wide")))],
        }),
        item(null, line("Send"), { kind: "code", language: "sql", text: "select\n\t1;" }),
      ],
    },
    { kind: "list", ordered: false, start: 1, items: [item(true, line("agreed")), item(false, line("chosen"))] },
    { kind: "quote", children: [paragraph(text("Old ones"), { kind: "break" }, text("stay."))] },
    { kind: "heading", level: 2, children: [text("Two")] },
    { kind: "rule" },
  ]);
});

test("tables_keep_their_cells", () => {
  assert.deepEqual(parseMarkdown("| a | b |\n|---|:-:|\n| 1 \\| 2 | **x** |\n| 3 |\nafter: no table\n\nend"), [
    {
      kind: "table",
      head: [[text("a")], [text("b")]],
      rows: [
        [[text("1 | 2")], [{ kind: "strong", children: [text("x")] }]],
        [[text("3")], []],
        [[text("after: no table")], []],
      ],
    },
    line("end"),
  ]);
});

test("hostile_nesting_and_size_end_and_stay_shallow", () => {
  const depth = (node: unknown): number =>
    node !== null && typeof node === "object" ? 1 + Math.max(0, ...Object.values(node).map(depth)) : 0;
  const hostile = [
    "> ".repeat(2000),
    "- ".repeat(2000),
    "*a ".repeat(2000) + "a* ".repeat(2000),
    "*_".repeat(4000),
    "[".repeat(5000) + "](x)".repeat(5000),
    "[](".repeat(5000),
    "` ``".repeat(3000),
    `${"  ".repeat(200)}- a\n`.repeat(50),
  ];
  for (const source of hostile) assert.ok(depth(parseMarkdown(`${source}deep`)) < 150, source.slice(0, 10));
  assert.equal(parseMarkdown("x".repeat(400_000))[0]?.kind, "code");
});

test("drawings_are_not_taken_for_markdown_and_diffs_know_their_lines", () => {
  assert.equal(looksLikeMarkdown("+--+\n|  |\n+--+"), false);
  assert.equal(looksLikeMarkdown("text\n# Title"), true);
  assert.deepEqual(["+++ b", "--- a", "@@ 1", "+x", "-x", " x"].map(diffTone), [
    "file",
    "file",
    "place",
    "added",
    "removed",
    "",
  ]);
});
