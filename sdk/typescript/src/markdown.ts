/**
 * Markdown, safe by construction: text becomes a tree of known nodes, and a page makes an element for each. No HTML is ever produced or
 * parsed, so nothing can be smuggled in; HTML in the source is shown as the text that it is.
 *
 * In: an agent's text. Out: blocks. This file reads blocks line by line; `markdown-inline.ts` reads what is inside a line. The dialect
 * is what agents write: CommonMark's blocks and emphasis, tables, task lists and strike-through of GitHub, and a line's end is a line's
 * end. There are no reference links: their addresses stand elsewhere, where nobody looks before he follows them.
 */

import { type Inline, parseInline } from "./markdown-inline.js";
import { clean } from "./safe-text.js";

export type { Inline } from "./markdown-inline.js";

export type Block =
  | { kind: "heading"; level: number; children: Inline[] }
  | { kind: "paragraph"; children: Inline[] }
  | { kind: "code"; text: string; language: string }
  | { kind: "quote"; children: Block[] }
  | List
  | { kind: "table"; head: Inline[][]; rows: Inline[][][] }
  | { kind: "rule" };

export interface List {
  kind: "list";
  ordered: boolean;
  start: number;
  /** `checked` is null where the item is no task. */
  items: { checked: boolean | null; children: Block[] }[];
}

/** Nesting deeper than a person can follow is shown as text, so that no agent can exhaust the stack. */
const MAX_DEPTH = 24;
/** Above this the text is shown unrendered: parsing must not hold up the page. */
const MAX_LENGTH = 300_000;

export function parseMarkdown(source: string): Block[] {
  const text = clean(source);
  if (text.length > MAX_LENGTH) return [{ kind: "code", text, language: "" }];
  return blocks(text.split("\n"), 0);
}

/** Drawings made of characters must keep their spaces; fenced or headed text wants to be rendered. */
export function looksLikeMarkdown(text: string): boolean {
  return /^(```|~~~|#{1,4} )/m.test(text);
}

const FENCE = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})/;
const HEADING = /^ {0,3}(#{1,6})(?=[ \t]|$)/;
const RULE = /^ {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$/;
const QUOTE = /^ {0,3}> ?/;
const MARKER = /^( *)([-*+]|\d{1,9}[.)])(?=[ \t]|$)/;
const UNDERLINE = /^ {0,3}(?:=+|-+)[ \t]*$/;

/** One kind of block: reads from `at` and returns the block and the line after it, or null where none begins. */
type Read = (lines: string[], at: number, depth: number) => { block: Block; next: number } | null;

const READERS: Read[] = [fence, indented, heading, rule, quote, list, table];

function blocks(lines: string[], depth: number): Block[] {
  if (depth > MAX_DEPTH) {
    const text = lines.join("\n").trim();
    return text === "" ? [] : [{ kind: "paragraph", children: [{ kind: "text", text }] }];
  }
  const found: Block[] = [];
  for (let at = 0; at < lines.length; ) {
    if (isBlank(lines[at])) {
      at += 1;
      continue;
    }
    const { block, next } = first(lines, at, depth);
    found.push(block);
    at = next;
  }
  return found;
}

function first(lines: string[], at: number, depth: number): { block: Block; next: number } {
  for (const read of READERS) {
    const found = read(lines, at, depth);
    if (found) return found;
  }
  return paragraph(lines, at);
}

function fence(lines: string[], at: number): { block: Block; next: number } | null {
  const opening = lines[at] ?? "";
  const mark = FENCE.exec(opening)?.[1];
  if (!mark) return null;
  const ends = (line: string): boolean => {
    const text = line.trim();
    return columns(line) < 4 && text.length >= mark.length && text === mark.charAt(0).repeat(text.length);
  };
  let next = at + 1;
  while (next < lines.length && !ends(lines[next] ?? "")) next += 1;
  const inside = lines.slice(at + 1, next).map((line) => strip(line, columns(opening)));
  return {
    block: { kind: "code", text: inside.join("\n"), language: opening.trim().slice(mark.length).trim() },
    next: next + 1,
  };
}

function indented(lines: string[], at: number): { block: Block; next: number } | null {
  let next = at;
  for (let i = at; i < lines.length && (isBlank(lines[i]) || columns(lines[i] ?? "") >= 4); i += 1)
    if (!isBlank(lines[i])) next = i + 1;
  if (next === at) return null;
  return {
    block: {
      kind: "code",
      text: lines
        .slice(at, next)
        .map((line) => strip(line, 4))
        .join("\n"),
      language: "",
    },
    next,
  };
}

function heading(lines: string[], at: number): { block: Block; next: number } | null {
  const line = lines[at] ?? "";
  const mark = HEADING.exec(line)?.[1];
  if (!mark) return null;
  const text = line.trim().slice(mark.length).trim();
  const open = text.slice(0, lastOf(text, "#"));
  const closed = open === "" || /[ \t]$/.test(open) ? open : text;
  return { block: { kind: "heading", level: mark.length, children: parseInline(closed.trim()) }, next: at + 1 };
}

function rule(lines: string[], at: number): { block: Block; next: number } | null {
  return RULE.test(lines[at] ?? "") ? { block: { kind: "rule" }, next: at + 1 } : null;
}

function quote(lines: string[], at: number, depth: number): { block: Block; next: number } | null {
  if (!QUOTE.test(lines[at] ?? "")) return null;
  const inside: string[] = [];
  let next = at;
  for (; next < lines.length; next += 1) {
    const line = lines[next] ?? "";
    const quoted = QUOTE.test(line);
    // A paragraph may go on without its mark.
    if (!quoted && (isBlank(line) || isBlank(inside.at(-1)) || beginsBlock(line))) break;
    inside.push(quoted ? line.replace(QUOTE, "") : line);
  }
  return { block: { kind: "quote", children: blocks(inside, depth + 1) }, next };
}

interface Marker {
  /** The column of the marker, and the one where its text begins. */
  column: number;
  text: number;
  ordered: boolean;
  /** The bullet, or what follows the number: another one begins another list. */
  sort: string;
  number: number;
}

function markerOf(line: string): Marker | null {
  const found = MARKER.exec(line);
  if (!found || RULE.test(line)) return null;
  const [whole, space = "", mark = ""] = found;
  const rest = line.slice(whole.length);
  const gap = columns(rest);
  return {
    column: space.length,
    text: whole.length + (rest.trim() === "" || gap > 4 ? 1 : gap),
    ordered: mark.length > 1,
    sort: mark.at(-1) ?? "",
    number: Number.parseInt(mark, 10) || 0,
  };
}

function list(lines: string[], at: number, depth: number): { block: Block; next: number } | null {
  const opening = markerOf(lines[at] ?? "");
  if (!opening || opening.column > 3) return null;
  const made: List = { kind: "list", ordered: opening.ordered, start: opening.ordered ? opening.number : 1, items: [] };
  let next = at;
  while (next < lines.length) {
    const marker = markerOf(lines[next] ?? "");
    if (!marker || marker.sort !== opening.sort || marker.ordered !== opening.ordered || marker.column > 3) break;
    const { end, indent } = itemAt(lines, next, marker);
    const inside = [
      strip(lines[next] ?? "", marker.text, true),
      ...lines.slice(next + 1, end).map((line) => strip(line, indent)),
    ];
    const task = /^\[([ xX])\](?=[ \t])/.exec(inside[0] ?? "");
    if (task) inside[0] = (inside[0] ?? "").slice(task[0].length).trimStart();
    made.items.push({ checked: task ? task[1] !== " " : null, children: blocks(inside, depth + 1) });
    next = end;
    while (next < lines.length && isBlank(lines[next])) next += 1;
  }
  return { block: made, next };
}

/**
 * The line after an item, and how far its lines are indented: what is indented belongs to it, and so does a paragraph that goes on
 * without indentation. People indent below "1. " by two as often as by three.
 */
function itemAt(lines: string[], at: number, marker: Marker): { end: number; indent: number } {
  let indent = marker.text;
  let end = at + 1;
  for (let i = at + 1; i < lines.length; i += 1) {
    const line = lines[i] ?? "";
    if (isBlank(line)) continue;
    const width = columns(line);
    if (end === at + 1 && width > marker.column + 1) indent = Math.min(indent, width);
    if (width < indent && (isBlank(lines[i - 1]) || beginsBlock(line) || markerOf(line))) break;
    end = i + 1;
  }
  return { end, indent };
}

function table(lines: string[], at: number): { block: Block; next: number } | null {
  const [head, ruler] = [lines[at] ?? "", lines[at + 1] ?? ""];
  if (!head.includes("|") || !/^[ \t|:-]+$/.test(ruler) || !ruler.includes("-")) return null;
  const names = cells(head);
  const marks = cells(ruler);
  if (marks.length !== names.length || !marks.every((mark) => /^:?-+:?$/.test(mark))) return null;
  let next = at + 2;
  const rows: Inline[][][] = [];
  for (; next < lines.length && !isBlank(lines[next]) && !beginsBlock(lines[next] ?? ""); next += 1) {
    const row = cells(lines[next] ?? "");
    rows.push(names.map((_, i) => parseInline(row[i] ?? "")));
  }
  return { block: { kind: "table", head: names.map((name) => parseInline(name)), rows }, next };
}

function cells(line: string): string[] {
  const row = line.trim().replace(/^\|/, "");
  const found: string[] = [];
  let cell = "";
  for (let i = 0; i < row.length; i += 1) {
    const character = row.charAt(i);
    if (character === "\\" && row[i + 1] === "|") cell += row.charAt((i += 1));
    else if (character !== "|") cell += character;
    else {
      found.push(cell.trim());
      cell = "";
    }
  }
  if (cell.trim() !== "") found.push(cell.trim());
  return found;
}

function paragraph(lines: string[], at: number): { block: Block; next: number } {
  let next = at + 1;
  const text = (): string =>
    lines
      .slice(at, next)
      .map((line) => line.trim())
      .join("\n");
  for (; next < lines.length && !isBlank(lines[next]); next += 1) {
    const line = lines[next] ?? "";
    if (UNDERLINE.test(line))
      return {
        block: { kind: "heading", level: line.includes("=") ? 1 : 2, children: parseInline(text()) },
        next: next + 1,
      };
    if (beginsBlock(line) || table(lines, next)) break;
  }
  return { block: { kind: "paragraph", children: parseInline(text()) }, next };
}

/** Whether a line ends the paragraph before it. A number other than 1 does not: it may be a year at a line's start. */
function beginsBlock(line: string): boolean {
  if (FENCE.test(line) || HEADING.test(line) || RULE.test(line) || QUOTE.test(line)) return true;
  const marker = markerOf(line);
  return (
    marker !== null &&
    marker.column < 4 &&
    (!marker.ordered || marker.number === 1) &&
    line.trim().length > (marker.ordered ? 2 : 1)
  );
}

function isBlank(line: string | undefined): boolean {
  return line === undefined || line.trim() === "";
}

/** The width of a line's indentation; a tab goes on to the next fourth column. */
function columns(line: string): number {
  let width = 0;
  for (const character of line) {
    if (character === " ") width += 1;
    else if (character === "\t") width += 4 - (width % 4);
    else break;
  }
  return width;
}

/** The line without its first columns: only of space, or of anything where a marker stands there. */
function strip(line: string, wanted: number, anything = false): string {
  let width = 0;
  let i = 0;
  for (; i < line.length && width < wanted; i += 1) {
    if (line[i] === "\t") width += 4 - (width % 4);
    else if (line[i] === " " || anything) width += 1;
    else break;
  }
  return " ".repeat(Math.max(0, width - wanted)) + line.slice(i);
}

/** Where the run of a character at the end of a text begins. */
function lastOf(text: string, character: string): number {
  let at = text.length;
  while (at > 0 && text[at - 1] === character) at -= 1;
  return at;
}
