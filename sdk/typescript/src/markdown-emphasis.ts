/**
 * Which runs of `*`, `_` and `~` belong together, by the rules of CommonMark.
 *
 * In: the pieces of a line, runs among them. Out: the pieces without runs: paired ones are nodes, the others text.
 */

import type { Inline } from "./markdown-inline.js";

/** Emphasis within emphasis within …: as with blocks, deeper than this it stays text. */
export const MAX_DEPTH = 24;

/** A run of marks that may begin or end emphasis. */
export interface Run {
  kind: "run";
  mark: string;
  length: number;
  opens: boolean;
  closes: boolean;
}

/** A piece of a line, and how deep it is. */
export interface Piece<Node> {
  node: Node;
  depth: number;
}

type Stack = Piece<Inline | Run>[];

export function pairRuns(pieces: Stack): Piece<Inline>[] {
  const stack: Stack = [];
  /** Per sort of closer, how far down the stack no opener for it is: so nothing is looked through twice. */
  const searched = new Map<string, number>();
  for (const piece of pieces) {
    if (piece.node.kind !== "run") {
      stack.push(piece);
      continue;
    }
    const run = { ...piece.node };
    while (run.closes && run.length > 0) {
      const opener = openerOf(run, stack, searched);
      if (opener < 0) break;
      pair(stack, opener, run);
    }
    if (run.length > 0) stack.push({ node: run.opens ? run : asText(run), depth: 0 });
  }
  return joined(stack);
}

function openerOf(run: Run, stack: Stack, searched: Map<string, number>): number {
  const sort = `${run.mark}${run.length % 3}${run.opens}`;
  const bottom = Math.min(searched.get(sort) ?? 0, stack.length);
  for (let i = stack.length - 1; i >= bottom; i -= 1) {
    const node = stack[i]?.node;
    if (node?.kind === "run" && node.mark === run.mark && fits(node, run)) return i;
  }
  searched.set(sort, stack.length);
  return -1;
}

/** CommonMark's rule of three: `**a*b**` is not `*(*a*)b**`. */
function fits(opener: Run, closer: Run): boolean {
  if (!opener.closes && !closer.opens) return true;
  return (opener.length + closer.length) % 3 !== 0 || (opener.length % 3 === 0 && closer.length % 3 === 0);
}

function pair(stack: Stack, at: number, closer: Run): void {
  const opener = stack[at]?.node as Run;
  const used = opener.length >= 2 && closer.length >= 2 ? 2 : 1;
  const children = joined(stack.splice(at + 1));
  const kind = opener.mark === "~" ? "del" : used === 2 ? "strong" : "em";
  const marks = opener.mark.repeat(used);
  opener.length -= used;
  closer.length -= used;
  if (opener.length === 0) stack.pop();
  const depth = depthOf(children) + 1;
  if (depth <= MAX_DEPTH) stack.push({ node: { kind, children: children.map(({ node }) => node) }, depth });
  else
    stack.push({ node: { kind: "text", text: marks + plainAll(children.map(({ node }) => node)) + marks }, depth: 0 });
}

export function depthOf(pieces: Piece<Inline>[]): number {
  return pieces.reduce((deepest, { depth }) => Math.max(deepest, depth), 0);
}

/** Without runs, and with neighbouring words as one. */
function joined(stack: Stack): Piece<Inline>[] {
  const pieces: Piece<Inline>[] = [];
  for (const { node: raw, depth } of stack) {
    const node = raw.kind === "run" ? asText(raw) : raw;
    const last = pieces.at(-1)?.node;
    if (node.kind === "text" && last?.kind === "text")
      pieces[pieces.length - 1] = { node: { kind: "text", text: last.text + node.text }, depth: 0 };
    else pieces.push({ node, depth });
  }
  return pieces;
}

function asText(run: Run): Inline {
  return { kind: "text", text: run.mark.repeat(run.length) };
}

/** Added up and not joined: a long text in the middle is then not copied for every pair around it. */
function plainAll(nodes: Inline[]): string {
  return nodes.reduce(
    (text, node) => text + ("text" in node ? node.text : "children" in node ? plainAll(node.children) : "\n"),
    "",
  );
}
