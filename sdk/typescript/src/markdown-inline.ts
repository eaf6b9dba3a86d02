/**
 * What is inside a line of Markdown: emphasis, code, links. Linear in the text's length: nothing is looked for twice.
 *
 * In: text without control characters. Out: nodes. Images are never nodes of their own: to fetch one would tell its server that the
 * question was seen, so they become links.
 */

import { depthOf, MAX_DEPTH, pairRuns, type Piece, type Run } from "./markdown-emphasis.js";
import { clean, safeLink } from "./safe-text.js";

export type Inline =
  | { kind: "text"; text: string }
  | { kind: "code"; text: string }
  | { kind: "break" }
  | { kind: "strong" | "em" | "del"; children: Inline[] }
  | { kind: "link"; href: string; children: Inline[] };

/** Longer addresses are shown as text; the limit keeps a text full of half links cheap to read. */
const MAX_ADDRESS = 2000;

export function parseInline(text: string): Inline[] {
  return new Line(text).read();
}

class Line {
  #at = 0;
  #words = "";
  readonly #pieces: Piece<Inline | Run>[] = [];
  /** Where `[` stands among the pieces, for the `]` that may come. */
  #brackets: { piece: number; image: boolean }[] = [];
  /** Lengths of back-quote runs that nothing closes. */
  readonly #unclosed = new Set<number>();

  constructor(private readonly text: string) {}

  read(): Inline[] {
    while (this.#at < this.text.length) this.#step();
    this.#flush();
    return pairRuns(this.#pieces).map(({ node }) => node);
  }

  #step(): void {
    const { text } = this;
    const character = text.charAt(this.#at);
    switch (character) {
      case "\\":
        return this.#escape();
      case "`":
        return this.#code();
      case "*":
      case "_":
      case "~":
        return this.#run(character);
      case "\n":
        this.#words = this.#words.trimEnd();
        this.#push({ kind: "break" });
        this.#at += 1;
        while (text[this.#at] === " ") this.#at += 1;
        return;
      case "!":
        return text[this.#at + 1] === "[" ? this.#open(true) : this.#take(1);
      case "[":
        return this.#open(false);
      case "]":
        return this.#close();
      case "<":
        return this.#angled();
      case "&":
        return this.#entity();
      case "h":
        return this.#bare();
      default:
        return this.#take(1);
    }
  }

  #take(length: number): void {
    this.#words += this.text.slice(this.#at, this.#at + length);
    this.#at += length;
  }

  #flush(): void {
    if (this.#words !== "") this.#pieces.push({ node: { kind: "text", text: this.#words }, depth: 0 });
    this.#words = "";
  }

  #push(node: Inline | Run, depth = 0): void {
    this.#flush();
    this.#pieces.push({ node, depth });
  }

  #escape(): void {
    const next = this.text.charAt(this.#at + 1);
    if (/[!-/:-@[-`{-~]/.test(next)) {
      this.#words += next;
      this.#at += 2;
    } else if (next === "\n") this.#at += 1;
    else this.#take(1);
  }

  #runLength(mark: string, at = this.#at): number {
    let end = at;
    while (this.text[end] === mark) end += 1;
    return end - at;
  }

  #code(): void {
    const length = this.#runLength("`");
    for (let at = this.#at + length; !this.#unclosed.has(length); ) {
      at = this.text.indexOf("`", at);
      if (at < 0) this.#unclosed.add(length);
      else if (this.#runLength("`", at) === length) {
        const inside = this.text.slice(this.#at + length, at).replace(/\n/g, " ");
        const padded = inside.startsWith(" ") && inside.endsWith(" ") && inside.trim() !== "";
        this.#push({ kind: "code", text: padded ? inside.slice(1, -1) : inside });
        this.#at = at + length;
        return;
      } else at += this.#runLength("`", at);
    }
    this.#take(length);
  }

  #run(mark: string): void {
    const length = this.#runLength(mark);
    const [before, after] = [characterBefore(this.text, this.#at), characterAt(this.text, this.#at + length)];
    const left = !isSpace(after) && (!isMark(after) || isSpace(before) || isMark(before));
    const right = !isSpace(before) && (!isMark(before) || isSpace(after) || isMark(after));
    // Within a word `_` is a letter of a name, and one `~` is "about".
    const opens = left && (mark !== "_" || !right || isMark(before));
    const closes = right && (mark !== "_" || !left || isMark(after));
    if (mark === "~" && length !== 2) return this.#take(length);
    this.#push({ kind: "run", mark, length, opens, closes });
    this.#at += length;
  }

  #open(image: boolean): void {
    const mark = image ? "![" : "[";
    this.#push({ kind: "text", text: mark });
    this.#brackets.push({ piece: this.#pieces.length - 1, image });
    this.#at += mark.length;
  }

  #close(): void {
    const bracket = this.#brackets.pop();
    const target = bracket ? targetAt(this.text, this.#at + 1) : null;
    if (!bracket || !target) return this.#take(1);
    this.#flush();
    const label = pairRuns(this.#pieces.splice(bracket.piece).slice(1));
    this.#at = target.end;
    // A picture that is a link's label is only its words; a link within a link would be nobody's.
    if (bracket.image && this.#brackets.length > 0) return void this.#pieces.push(...label);
    this.#link(target.address, label);
    this.#brackets = [];
  }

  #link(address: string, label: Piece<Inline>[]): void {
    const href = safeLink(address);
    const depth = depthOf(label) + 1;
    const shown = label.length > 0 ? label : [{ node: { kind: "text", text: clean(address) } as const, depth: 0 }];
    if (href !== null && depth <= MAX_DEPTH)
      return this.#push({ kind: "link", href, children: shown.map(({ node }) => node) }, depth);
    this.#pieces.push(...shown);
    this.#words = ` (${clean(address)})`;
  }

  #angled(): void {
    const found = /<((?:https?|mailto):[^\s<>]{0,2000})>/iy;
    found.lastIndex = this.#at;
    const address = found.exec(this.text)?.[1];
    const href = address === undefined ? null : safeLink(address);
    if (address === undefined || href === null) return this.#take(1);
    this.#push({ kind: "link", href, children: [{ kind: "text", text: address }] }, 1);
    this.#at += address.length + 2;
  }

  #bare(): void {
    // Bounded, so that many beginnings of an address are not each read to the end of the text.
    const found = /https?:\/\/[^\s<>`|"]{1,2000}/y;
    found.lastIndex = this.#at;
    const inWord = /[\p{L}\p{N}]/u.test(characterBefore(this.text, this.#at));
    const address = inWord || this.#brackets.length > 0 ? undefined : found.exec(this.text)?.[0];
    const trimmed = address === undefined ? "" : withoutTail(address);
    const href = safeLink(trimmed);
    if (href === null || trimmed.length < "https://x".length - 1) return this.#take(1);
    this.#push({ kind: "link", href, children: [{ kind: "text", text: trimmed }] }, 1);
    this.#at += trimmed.length;
  }

  #entity(): void {
    const found = /&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,4}));/iy;
    found.lastIndex = this.#at;
    const [whole = "", decimal, hex, name = ""] = found.exec(this.text) ?? [];
    const code = decimal ? Number.parseInt(decimal, 10) : hex ? Number.parseInt(hex, 16) : -1;
    const meant = code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : NAMED[name.toLowerCase()];
    if (meant === undefined) return this.#take(1);
    // An entity can stand for a control character.
    this.#words += clean(meant);
    this.#at += whole.length;
  }
}

const NAMED: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0" };

function characterBefore(text: string, at: number): string {
  return at === 0 ? " " : (Array.from(text.slice(Math.max(0, at - 2), at)).pop() ?? " ");
}

function characterAt(text: string, at: number): string {
  const code = text.codePointAt(at);
  return code === undefined ? " " : String.fromCodePoint(code);
}

function isSpace(character: string): boolean {
  return /\s/u.test(character);
}

function isMark(character: string): boolean {
  return /[\p{P}\p{S}]/u.test(character);
}

/** An address in running text ends before the sentence's own marks. */
function withoutTail(address: string): string {
  let end = address.length;
  let surplus = [...address].reduce((sum, character) => sum + (character === ")" ? 1 : character === "(" ? -1 : 0), 0);
  for (; end > 0; end -= 1) {
    const last = address.charAt(end - 1);
    if (last === ")" && surplus > 0) surplus -= 1;
    else if (!/[?!.,:;*_~'"\]]/.test(last)) break;
  }
  return address.slice(0, end);
}

/** `(address "title")` after a `]`. The title is left out: nobody sees it before he follows the link. */
function targetAt(text: string, at: number): { address: string; end: number } | null {
  if (text[at] !== "(") return null;
  let end = skipSpace(text, at + 1);
  const angled = text[end] === "<";
  const found = angled ? /^<([^<>\n]*)>/.exec(text.slice(end, end + MAX_ADDRESS))?.[1] : balanced(text, end);
  if (found === undefined) return null;
  end = skipSpace(text, end + found.length + (angled ? 2 : 0));
  const title = /^(?:"[^"]*"|'[^']*')/.exec(text.slice(end, end + MAX_ADDRESS))?.[0] ?? "";
  end = skipSpace(text, end + title.length);
  const address = found.replace(/\\([!-/:-@[-`{-~])/g, "$1").replace(/&amp;/g, "&");
  return text[end] === ")" ? { address, end: end + 1 } : null;
}

/** Parentheses within parentheses of an address; CommonMark asks for at least as many. */
const MAX_PARENTHESES = 32;

/** An address without spaces, whose parentheses pair up. */
function balanced(text: string, at: number): string | undefined {
  let open = 0;
  for (let i = at; i < text.length && i < at + MAX_ADDRESS; i += 1) {
    const character = text.charAt(i);
    if (character === "(" && ++open > MAX_PARENTHESES) return undefined;
    if (/\s/.test(character) || (character === ")" && --open < 0)) return text.slice(at, i);
  }
  return undefined;
}

function skipSpace(text: string, at: number): number {
  let end = at;
  while (text[end] === " " || text[end] === "\n") end += 1;
  return end;
}
