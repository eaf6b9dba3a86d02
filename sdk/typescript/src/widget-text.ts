/** Agents' text as elements: Markdown from its tree, and the plan, command or diff that a question is about. */

import { type Block, type Inline, parseMarkdown } from "./markdown.js";
import { clean, diffTone } from "./safe-text.js";
import type { Body } from "./types.js";
import { button, element } from "./widget-dom.js";
import { say } from "./widget-words.js";

/** A text of more lines is folded: a question must not fill the page of a chat. */
const LONG_LINES = 24;

export function markdown(text: string): HTMLElement {
  return element("div", { class: "markdown", dir: "auto" }, ...parseMarkdown(text).map(block));
}

function block(node: Block): Node {
  switch (node.kind) {
    case "heading":
      // Not a heading of the page: an agent's text must not disturb its outline.
      return element("p", { class: `heading level-${node.level}` }, ...node.children.map(inline));
    case "paragraph":
      return element("p", {}, ...node.children.map(inline));
    case "code":
      return element("pre", {}, node.text);
    case "quote":
      return element("blockquote", {}, ...node.children.map(block));
    case "rule":
      return element("hr");
    case "table": {
      const row = (cells: Inline[][], name: "th" | "td"): Node =>
        element("tr", {}, ...cells.map((cell) => element(name, {}, ...cell.map(inline))));
      const rows = element("tbody", {}, ...node.rows.map((cells) => row(cells, "td")));
      return scrolled("div", say.table, element("table", {}, element("thead", {}, row(node.head, "th")), rows));
    }
    case "list": {
      const items = node.items.map(({ checked, children }) => {
        const box =
          checked === null
            ? null
            : element("span", { role: "img", "aria-label": checked ? say.done : say.toDo }, checked ? "☑" : "☐");
        return element("li", { class: checked === null ? null : "task" }, box, ...children.map(block));
      });
      return node.ordered ? element("ol", { start: String(node.start) }, ...items) : element("ul", {}, ...items);
    }
  }
}

function inline(node: Inline): Node {
  switch (node.kind) {
    case "text":
      return document.createTextNode(node.text);
    case "break":
      return element("br");
    case "code":
      return element("code", {}, node.text);
    case "link":
      return element(
        "a",
        { href: node.href, target: "_blank", rel: "noopener noreferrer" },
        ...node.children.map(inline),
      );
    default:
      return element(node.kind, {}, ...node.children.map(inline));
  }
}

/** What scrolls must be reachable by keyboard. */
export function scrolled(name: "pre" | "div", label: string, ...children: (Node | string)[]): HTMLElement {
  return element(name, { class: "scrolls", tabindex: "0", role: "group", "aria-label": label }, ...children);
}

/** Whole, never cut; a long one is folded to a box that scrolls. Lines are wrapped: the end of a command must not lie outside. */
export function bodyView({ format, text }: Body): HTMLElement {
  // Whoever sees this has the whole text behind him.
  const end = element("span", { class: "end" });
  const lines = clean(text).split("\n");
  const bar = element("div", { class: "folds" });
  const sheet = sheetOf(format, text, lines, end);
  if (lines.length > LONG_LINES) bar.append(folding(sheet, lines.length));
  if (format === "diff") bar.append(wrapping(sheet));
  return element("div", { class: "about", part: "body" }, sheet, bar.childElementCount > 0 ? bar : null);
}

function sheetOf(format: Body["format"], text: string, lines: string[], end: HTMLElement): HTMLElement {
  const group = { tabindex: "0", role: "group" };
  switch (format) {
    case "markdown":
      return element("div", { ...group, class: "body", "aria-label": say.plan }, markdown(text), end);
    case "diff": {
      const marked = lines.map((line) => element("span", { class: `line ${diffTone(line)}` }, `${line}\n`));
      return element("pre", { ...group, class: "body", "aria-label": say.changes }, ...marked, end);
    }
    default: {
      const label = format === "command" ? say.command : say.text;
      return element("pre", { ...group, class: "body", "aria-label": label, dir: "auto" }, clean(text), end);
    }
  }
}

function folding(sheet: HTMLElement, lines: number): HTMLElement {
  sheet.classList.add("folded");
  const toggle = button(
    say.showAll(lines),
    () => {
      const isFolded = sheet.classList.toggle("folded");
      toggle.textContent = isFolded ? say.showAll(lines) : say.fold;
      toggle.setAttribute("aria-expanded", String(!isFolded));
    },
    { class: "quiet", part: "fold", "aria-expanded": "false" },
  );
  return toggle;
}

function wrapping(sheet: HTMLElement): HTMLElement {
  const toggle = button(
    say.doNotWrap,
    () => {
      toggle.textContent = sheet.classList.toggle("unwrapped") ? say.wrap : say.doNotWrap;
    },
    { class: "quiet", part: "wrap" },
  );
  return toggle;
}
