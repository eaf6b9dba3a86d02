/**
 * Markdown, safe by construction: text becomes a tree of known nodes, and `Markdown.svelte` makes an element for each.
 * No HTML is ever produced or parsed, so nothing can be smuggled in; HTML in the source is shown as the text that it is.
 */

import { Lexer, type Token, type Tokens } from "marked";

import { clean } from "./clean.ts";
import { safeLink } from "./links.ts";

export type Inline =
  | { kind: "text"; text: string }
  | { kind: "code"; text: string }
  | { kind: "break" }
  | { kind: "strong" | "em" | "del"; children: Inline[] }
  | { kind: "link"; href: string; children: Inline[] };

export type Block =
  | { kind: "heading"; level: number; children: Inline[] }
  | { kind: "paragraph"; children: Inline[] }
  | { kind: "code"; text: string; language: string }
  | { kind: "quote"; children: Block[] }
  | { kind: "list"; ordered: boolean; start: number; items: { checked: boolean | null; children: Block[] }[] }
  | { kind: "table"; head: Inline[][]; rows: Inline[][][] }
  | { kind: "rule" };

/** Nesting deeper than a person can follow is shown as text, so that no agent can exhaust the stack. */
const MAX_DEPTH = 24;
/** Above this the text is shown unrendered: parsing must not hold up the page. */
const MAX_LENGTH = 300_000;

export function parseMarkdown(source: string): Block[] {
  const text = clean(source);
  if (text.length > MAX_LENGTH) return [{ kind: "code", text, language: "" }];
  try {
    return blocks(new Lexer({ gfm: true, breaks: true }).lex(text), 0);
  } catch {
    return [{ kind: "code", text, language: "" }];
  }
}

function blocks(tokens: Token[], depth: number): Block[] {
  return tokens.flatMap((token) => block(token, depth));
}

function block(token: Token, depth: number): Block[] {
  if (depth > MAX_DEPTH) return plain(token.raw);
  switch (token.type) {
    case "space":
    case "def":
      return [];
    case "heading":
      return [{ kind: "heading", level: (token as Tokens.Heading).depth, children: inlines(token.tokens, depth) }];
    case "paragraph":
    case "text":
      return [{ kind: "paragraph", children: token.tokens ? inlines(token.tokens, depth) : words(token.raw) }];
    case "code":
      return [{ kind: "code", text: (token as Tokens.Code).text, language: (token as Tokens.Code).lang ?? "" }];
    case "blockquote":
      return [{ kind: "quote", children: blocks(token.tokens ?? [], depth + 1) }];
    case "list":
      return [list(token as Tokens.List, depth)];
    case "table":
      return [table(token as Tokens.Table, depth)];
    case "hr":
      return [{ kind: "rule" }];
    default:
      return plain(token.raw);
  }
}

function list(token: Tokens.List, depth: number): Block {
  const items = token.items.map((item) => ({
    checked: item.task ? (item.checked ?? false) : null,
    children: blocks(item.tokens.filter((inner) => inner.type !== "checkbox"), depth + 1),
  }));
  return { kind: "list", ordered: token.ordered, start: Number(token.start) || 1, items };
}

function table(token: Tokens.Table, depth: number): Block {
  const cells = (row: Tokens.TableCell[]): Inline[][] => row.map((cell) => inlines(cell.tokens, depth));
  return { kind: "table", head: cells(token.header), rows: token.rows.map(cells) };
}

function plain(raw: string): Block[] {
  return raw.trim() === "" ? [] : [{ kind: "paragraph", children: [{ kind: "text", text: raw.trimEnd() }] }];
}

function words(text: string): Inline[] {
  // Cleaned again: an entity can stand for a control character.
  return [{ kind: "text", text: clean(decodeNamed(text)) }];
}

function inlines(tokens: Token[] | undefined, depth: number): Inline[] {
  return (tokens ?? []).flatMap((token) => inline(token, depth + 1));
}

function inline(token: Token, depth: number): Inline[] {
  if (depth > MAX_DEPTH) return [{ kind: "text", text: token.raw }];
  switch (token.type) {
    case "strong":
    case "em":
    case "del":
      return [{ kind: token.type, children: inlines(token.tokens, depth) }];
    case "codespan":
      return [{ kind: "code", text: (token as Tokens.Codespan).text }];
    case "br":
      return [{ kind: "break" }];
    case "escape":
      return [{ kind: "text", text: (token as Tokens.Escape).text }];
    case "text":
      return token.tokens ? inlines(token.tokens, depth) : words((token as Tokens.Text).text);
    case "link":
    case "image":
      return link(token as Tokens.Link | Tokens.Image, depth);
    default:
      return [{ kind: "text", text: token.raw }];
  }
}

/** Images are never loaded: fetching one would tell its server that the question was seen. */
function link(token: Tokens.Link | Tokens.Image, depth: number): Inline[] {
  const href = safeLink(decodeNamed(token.href));
  const label = token.type === "image" ? words(token.text || token.href) : inlines(token.tokens, depth);
  if (href === null) return [...label, { kind: "text", text: ` (${token.href})` }];
  return [{ kind: "link", href, children: label }];
}

const NAMED: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0" };

/** The lexer decodes numbered entities itself and leaves the named ones. */
function decodeNamed(text: string): string {
  return text.replace(/&([a-z]{2,4});/gi, (whole, name: string) => NAMED[name.toLowerCase()] ?? whole);
}
