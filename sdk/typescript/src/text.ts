/** Agents' text for pages that show it in their own way: `import { parseMarkdown } from "askd/text"`. The inbox and the widget do so too. */

export { type Block, type Inline, type List, looksLikeMarkdown, parseMarkdown } from "./markdown.js";
export { clean, type DiffTone, diffTone, safeLink } from "./safe-text.js";
