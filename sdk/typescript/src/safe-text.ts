/**
 * Agents' text is hostile input. What a terminal would obey is taken out; what would hide or reorder text is made visible.
 *
 * In: any text. Out: text that shows what it says. Only for showing: answers carry the values as the agent wrote them.
 */

const ESC = "\u001b";

/** CSI, OSC/DCS/APC/PM/SOS (ended by BEL or ST, or cut off), and two-character sequences; each also in its 8-bit form. */
const TERMINAL_SEQUENCES = new RegExp(
  [
    `(?:${ESC}\\[|\u009b)[0-?]*[ -/]*[@-~]?`,
    `(?:${ESC}[\\]PX^_]|[\u009d\u0090\u0098\u009e\u009f])[^\u0007\u009c${ESC}]*(?:\u0007|\u009c|${ESC}\\\\)?`,
    `${ESC}[ -/]*[0-~]?`,
  ].join("|"),
  "g",
);

/** Direction overrides, isolates, zero-width and other invisible format characters that can disguise a command. */
const INVISIBLE = /[\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\u{e0000}-\u{e007f}\ufeff]/gu;
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;

export function clean(text: string): string {
  return text
    .replace(TERMINAL_SEQUENCES, "")
    .replace(/\r\n?/g, "\n")
    .replace(CONTROL, (character) => picture(character.charCodeAt(0)))
    .replace(INVISIBLE, (character) => `‹U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}›`);
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
