/** The entry `askd/text`: agents' text for pages that show it in their own way. The inbox and the widget use it too. */

export { type Block, type Inline, type List, looksLikeMarkdown, parseMarkdown } from "./markdown.js";
export { clean, type DiffTone, diffTone, safeLink } from "./safe-text.js";
