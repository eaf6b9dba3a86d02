/** Agents' text as elements: Markdown from its tree, and the plan, command or diff that a question is about. */

import { type Block, type Inline, parseMarkdown } from "./markdown.js";
import { clean, diffTone } from "./safe-text.js";
import type { Body } from "./types.js";
import { element } from "./widget-dom.js";

export function markdown(text: string): HTMLElement {
  return element("div", { class: "markdown" }, ...parseMarkdown(text).map(block));
}

function block(node: Block): Node {
  switch (node.kind) {
    case "heading":
      // Not a heading of the page: an agent's text must not disturb its outline.
      return element("p", { class: `heading level-${node.level}` }, ...node.children.map(inline));
    case "paragraph":
      return element("p", {}, ...node.children.map(inline));
    case "code":
      return scrolled("pre", node.language ? `Code, ${node.language}` : "Code", node.text);
    case "quote":
      return element("blockquote", {}, ...node.children.map(block));
    case "rule":
      return element("hr");
    case "table": {
      const row = (cells: Inline[][], name: "th" | "td"): Node =>
        element("tr", {}, ...cells.map((cell) => element(name, {}, ...cell.map(inline))));
      const rows = element("tbody", {}, ...node.rows.map((cells) => row(cells, "td")));
      return scrolled("div", "Table", element("table", {}, element("thead", {}, row(node.head, "th")), rows));
    }
    case "list": {
      const items = node.items.map(({ checked, children }) => {
        const box =
          checked === null
            ? null
            : element("span", { role: "img", "aria-label": checked ? "done" : "to do" }, checked ? "☑" : "☐");
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

/** Whole, never cut. */
export function bodyView({ format, text }: Body): HTMLElement {
  // Whoever sees this has the whole text behind him.
  const end = element("span", { class: "end" });
  if (format === "markdown") return element("div", { class: "body" }, markdown(text), end);
  if (format !== "diff") return scrolled("pre", format === "command" ? "Command" : "Text", clean(text), end);
  const lines = clean(text).split("\n");
  return scrolled(
    "pre",
    "Changes",
    ...lines.map((line) => element("span", { class: `line ${diffTone(line)}` }, `${line}\n`)),
    end,
  );
}
