/**
 * Agents' text is hostile input. What a terminal would obey is taken out, what it would have swallowed as the content of a
 * sequence (a title, a link, the clipboard) is shown in ‹›, and what would hide or reorder text is made visible: nothing may be
 * hidden from the person who decides.
 *
 * `tests/hostile-text.json` is the rule for the page and the terminal.
 *
 * In: any text. Out: text that shows what it says. Only for showing: answers carry the values as the agent wrote them.
 */

const ESC = "\u001b";

/** OSC, DCS, APC, PM and SOS, also in their 8-bit forms: text up to BEL, ST or the end of the line. */
const STRING = `(?:${ESC}[\\]PX^_]|[\u009d\u0090\u0098\u009e\u009f])([^\u0007\u009c${ESC}\n\r]*)(?:\u0007|\u009c|${ESC}\\\\?)?`;
/** Colours, movements, resets and character sets: all that vanishes without a trace, because no word of a shell fits into it. */
const PAINT = `(?:${ESC}\\[|\u009b)\\??(?:\\d[\\d;:]*)?[A-Za-z]|${ESC}(?:[()][A-Z0-9]|[A-Za-z0-9=])`;
/** Whatever else a terminal would take for a sequence. Spaces, slashes, pipes and the like fit into these. */
const OTHER = `(?:${ESC}\\[?|\u009b)([ -?]*[@-~]?)`;
const SEQUENCES = new RegExp([STRING, PAINT, OTHER].join("|"), "g");

const LINE_BREAKS = /\r\n?|[\u0085\u2028\u2029]/g;
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;

/** Characters that may be drawn as emoji, in blocks; `crates/cli/src/text.rs` has the same. */
const PICTOGRAPH =
  "[\\u00a9\\u00ae\\u203c\\u2049\\u2122\\u2139\\u2190-\\u21ff\\u2300-\\u23ff\\u24c2\\u25a0-\\u27bf\\u2900-\\u297f\\u2b00-\\u2bff\\u3030\\u303d\\u3297\\u3299\\u{1f000}-\\u{1faff}]";

/**
 * Direction overrides and isolates, zero-width and format characters, fillers and blanks that are drawn as nothing, variation
 * selectors and tags. The first alternative is left alone: the selectors that emoji and keycaps are written with.
 */
const HIDING = new RegExp(
  `(${PICTOGRAPH}[\\ufe0e\\ufe0f]|[#*0-9]\\ufe0f\\u20e3)|` +
    "[\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b\\u200e\\u200f\\u202a-\\u202e\\u2060-\\u206f\\u2800\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}]",
  "gu",
);

export function clean(text: string): string {
  return text
    .replace(SEQUENCES, (_, content: string | undefined, other: string | undefined) =>
      content === undefined && !other ? "" : `‹${content ?? other}›`,
    )
    .replace(LINE_BREAKS, "\n")
    .replace(CONTROL, (character) => picture(character.charCodeAt(0)))
    .replace(
      HIDING,
      (character, emoji: string | undefined) =>
        emoji ?? `‹U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}›`,
    );
}

/** Unicode has a small picture for each control character. */
function picture(code: number): string {
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? "\u2421" : "\ufffd";
}

const SAFE_SCHEMES = new Set(["http:", "https:", "mailto:"]);

/** The address of a link that a person may follow: only one that cannot run code here. */
export function safeLink(href: string): string | null {
  // A relative address would point into the page itself; an agent has no business there.
  if (!/^[a-z][a-z0-9+.-]*:/i.test(href)) return null;
  try {
    const url = new URL(href);
    return SAFE_SCHEMES.has(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

export type DiffTone = "file" | "place" | "added" | "removed" | "";

/** What a line of a diff is. */
export function diffTone(line: string): DiffTone {
  if (line.startsWith("+++") || line.startsWith("---") || line.startsWith("diff ")) return "file";
  if (line.startsWith("@@")) return "place";
  if (line.startsWith("+")) return "added";
  return line.startsWith("-") ? "removed" : "";
}
