/** How the widget looks. Every colour and length is a variable that the page around it may set. */

export const STYLE = `
.end { display: block; height: 1px; }
.masked { -webkit-text-security: disc; }
.question:focus { outline: none; }
button[aria-disabled="true"] { opacity: 0.6; cursor: default; }

:host {
  --gap: var(--askd-gap, 0.75rem);
  --radius: var(--askd-radius, 10px);
  --small: calc(var(--radius) * 0.7);
  --accent: var(--askd-accent, light-dark(#4338ca, #aab3ff));
  --accent-ink: var(--askd-accent-ink, light-dark(#fff, #14161b));
  --accent-soft: var(--askd-accent-soft, light-dark(#eeedfc, #272b45));
  --surface: var(--askd-surface, light-dark(#fff, #1c1f26));
  --field: var(--askd-field, light-dark(#f5f4f0, #14161b));
  --line: var(--askd-line, #8884);
  --line-strong: var(--askd-line-strong, #888);
  --bad: var(--askd-bad, light-dark(#b3211a, #ff9b93));
  --good: var(--askd-good, light-dark(#15693c, #7fd6a3));
  --mono: var(--askd-mono, ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace);
  display: block;
  container-type: inline-size;
  font: var(--askd-font, inherit);
  color: var(--askd-ink, inherit);
  overflow-wrap: anywhere;
}
:host([state="hidden"]), [hidden] { display: none !important; }
*, *::before { box-sizing: border-box; }
form, .summary, .problem:only-child {
  display: flex;
  flex-direction: column;
  gap: calc(var(--gap) * 1.4);
  padding: var(--askd-padding, 1rem);
  border: 1px solid var(--line);
  border-radius: var(--radius);
  background: var(--surface);
}
.summary { gap: calc(var(--gap) / 3); }
p, pre, ul, ol, blockquote { margin: 0; }
.item { display: flex; flex-direction: column; gap: var(--gap); min-width: 0; }
.item + .item { padding-top: calc(var(--gap) * 1.4); border-top: 1px solid var(--line); }
.header {
  display: inline-block;
  margin-bottom: 0.25rem;
  padding: 0 0.55rem;
  border-radius: 99px;
  background: var(--accent-soft);
  font-size: 0.85em;
}
.question { font-size: 1.1em; font-weight: 600; }
.soft { opacity: 0.75; font-size: 0.9em; }
.columns { display: grid; gap: var(--gap); min-width: 0; }
.options { display: flex; flex-direction: column; gap: calc(var(--gap) / 1.5); min-width: 0; }
@container (min-width: 36rem) {
  .columns:has(.preview:not([hidden])) { grid-template-columns: minmax(12rem, 2fr) minmax(0, 3fr); align-items: start; }
}
.option {
  display: flex;
  gap: 0.65rem;
  align-items: flex-start;
  min-height: 2.75rem;
  padding: 0.55rem 0.75rem;
  border: 1px solid var(--line);
  border-radius: var(--small);
  cursor: pointer;
}
.option:hover { border-color: var(--line-strong); }
.option:has(:checked) { border-color: var(--accent); background: var(--accent-soft); }
.option:focus-within { border-color: var(--accent); box-shadow: 0 0 0 1px var(--accent); }
.option :is([type="radio"], [type="checkbox"]) { flex: none; width: 1.1rem; height: 1.1rem; margin: 0.2rem 0 0; accent-color: var(--accent); }
.option > label { display: flex; flex: none; gap: 0.65rem; align-items: center; min-height: 2.25rem; cursor: pointer; }
.option > label :is([type="radio"], [type="checkbox"]) { margin: 0; }
div.option { align-items: center; padding: 0.2rem 0.3rem 0.2rem 0.75rem; }
.words { display: flex; flex-direction: column; min-width: 0; white-space: pre-wrap; }
.label { font-weight: 550; }
input:not([type="radio"]):not([type="checkbox"]), textarea, select {
  width: 100%;
  min-height: 2.25rem;
  padding: 0.4rem 0.65rem;
  border: 1px solid var(--line-strong);
  border-radius: var(--small);
  background: var(--field);
  color: inherit;
  font: inherit;
}
textarea { resize: vertical; }
textarea.plan, pre, code { font-family: var(--mono); font-size: 0.875em; }
.preview { min-width: 0; border: 1px solid var(--line); border-radius: var(--small); background: var(--field); }
.bar { display: flex; align-items: center; justify-content: space-between; gap: 0.5rem; padding: 0 0.25rem 0 0.75rem; border-bottom: 1px solid var(--line); }
.scrolls { max-height: 24rem; overflow: auto; overflow-wrap: normal; }
.preview > .scrolls { padding: 0.75rem; }
form > pre.scrolls, .item > pre.scrolls, .body, .summary pre { padding: 0.75rem; border: 1px solid var(--line); border-radius: var(--small); background: var(--field); }
.line { display: block; min-width: max-content; }
.line.added { color: var(--good); }
.line.removed { color: var(--bad); }
.line.file { font-weight: 650; }
.line.place { opacity: 0.75; }
.markdown > * + *, .markdown li:not(.task) > * + * { margin-top: 0.6em; }
.markdown .heading { font-weight: 650; }
.markdown :is(.level-1, .level-2) { font-size: 1.1em; }
.markdown :is(pre, div.scrolls) { border: 1px solid var(--line); border-radius: var(--small); }
.markdown :is(ul, ol) { padding-left: 1.4em; }
.markdown li.task { display: flex; gap: 0.5rem; margin-left: -1.4em; list-style: none; }
.markdown blockquote { padding-left: 0.9rem; border-left: 3px solid var(--line-strong); opacity: 0.85; }
.markdown hr { border: 0; border-top: 1px solid var(--line); }
.markdown pre { padding: 0.6rem; }
table { width: 100%; border-collapse: collapse; }
th, td { padding: 0.3rem 0.6rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
a { color: var(--accent); }
.buttons { display: flex; flex-wrap: wrap; gap: 0.6rem; align-items: center; }
button {
  min-height: 2.5rem;
  padding: 0 1.1rem;
  border: 1px solid var(--line-strong);
  border-radius: var(--small);
  background: none;
  color: inherit;
  font: inherit;
  font-weight: 550;
  cursor: pointer;
}
button.primary { min-width: 8rem; border-color: var(--accent); background: var(--accent); color: var(--accent-ink); }
button.quiet { min-height: 2rem; padding: 0 0.5rem; border-color: transparent; font-size: 0.875em; opacity: 0.85; }
.note > .quiet { margin-left: -0.5rem; }
button:hover { filter: brightness(1.08); border-color: currentcolor; }
button:disabled { opacity: 0.6; cursor: default; }
details > * + * { margin-top: 0.6rem; }
details label, .mode { display: flex; flex-direction: column; gap: 0.25rem; }
.way { display: flex; flex-wrap: wrap; gap: 0.6rem; align-items: center; }
.way p { flex: 1 1 14rem; }
summary { min-height: 1.75rem; opacity: 0.85; cursor: pointer; }
.state { font-weight: 600; }
.problem { color: var(--bad); font-weight: 550; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
@media (pointer: coarse) {
  button, button.quiet, input:not([type="radio"]):not([type="checkbox"]), select, summary { min-height: 2.75rem; }
}
`;
