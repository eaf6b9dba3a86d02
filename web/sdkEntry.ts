/** What `/sdk/widget.js` of a hub exports; importing it defines `<askd-question>`. */

export * from "askd";
export { explain } from "askd/explain";
export { useWords } from "askd/widget";
