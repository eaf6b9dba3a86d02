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
  --ink: var(--askd-ink, light-dark(#1b1d24, #eceef3));
  --surface: var(--askd-surface, light-dark(#fff, #1c1f26));
  --accent: var(--askd-accent, color-mix(in srgb, #5b5bd6 55%, var(--ink)));
  --accent-ink: var(--askd-accent-ink, var(--surface));
  --accent-soft: var(--askd-accent-soft, color-mix(in srgb, var(--accent) 12%, var(--surface)));
  --field: var(--askd-field, color-mix(in srgb, var(--ink) 4%, var(--surface)));
  --line: var(--askd-line, color-mix(in srgb, var(--ink) 22%, var(--surface)));
  --line-strong: var(--askd-line-strong, color-mix(in srgb, var(--ink) 55%, var(--surface)));
  --bad: var(--askd-bad, color-mix(in srgb, #e5261b 60%, var(--ink)));
  --good: var(--askd-good, color-mix(in srgb, #14a44d 50%, var(--ink)));
  --soft: var(--askd-soft, color-mix(in srgb, var(--ink) 78%, var(--surface)));
  --mono: var(--askd-mono, ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace);
  display: block;
  container-type: inline-size;
  font: var(--askd-font, inherit);
  color: var(--ink);
  overflow-wrap: anywhere;
}
:host([state="hidden"]) { display: contents; }
:host([state="hidden"]:not([loading])) ::slotted([slot="loading"]) { display: none; }
[hidden] { display: none !important; }
*, *::before { box-sizing: border-box; }
.form, .summary, .failed, .problem:only-child {
  display: flex;
  flex-direction: column;
  gap: calc(var(--gap) * 1.4);
  padding: var(--askd-padding, 1rem);
  border: 1px solid var(--line);
  border-radius: var(--radius);
  background: var(--surface);
}
.summary { gap: calc(var(--gap) / 3); }
.summary:focus { outline: none; }
.failed { align-items: flex-start; gap: var(--gap); }
.who { display: flex; flex-direction: column; gap: 0.15rem; }
.facts { display: flex; flex-wrap: wrap; gap: 0 0.9rem; }
.deadline { color: var(--bad); }
.excerpt > div { max-height: 12rem; overflow: auto; padding-inline-start: 0.9rem; border-inline-start: 3px solid var(--line); }
.first { display: block; white-space: pre-wrap; }
.asked { display: flex; flex-direction: column; gap: 0.15rem; }
.asked li.picked { font-weight: 650; }
.asked ul { padding-inline-start: 1.4em; }
.about { display: flex; flex-direction: column; gap: 0.4rem; min-width: 0; }
.body { max-height: none; overflow: auto; padding: 0.75rem; border: 1px solid var(--line); border-radius: var(--small); background: var(--field); }
.body.folded { max-height: 24rem; }
.folds { display: flex; flex-wrap: wrap; gap: 0.4rem; }
pre { white-space: pre-wrap; }
.unwrapped, .preview pre { white-space: pre; overflow-wrap: normal; }
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
.soft { color: var(--soft); font-size: 0.9em; }
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
.summary pre { padding: 0.75rem; border: 1px solid var(--line); border-radius: var(--small); background: var(--field); }
.line { display: block; }
.unwrapped .line { min-width: max-content; }
.line.added { color: var(--good); }
.line.removed { color: var(--bad); }
.line.file { font-weight: 650; }
.line.place { color: var(--soft); }
.markdown > * + *, .markdown li:not(.task) > * + * { margin-top: 0.6em; }
.markdown .heading { font-weight: 650; }
.markdown :is(.level-1, .level-2) { font-size: 1.1em; }
.markdown :is(pre, div.scrolls) { border: 1px solid var(--line); border-radius: var(--small); }
.markdown :is(ul, ol) { padding-inline-start: 1.4em; }
.markdown li.task { display: flex; gap: 0.5rem; margin-inline-start: -1.4em; list-style: none; }
.markdown blockquote { padding-inline-start: 0.9rem; border-inline-start: 3px solid var(--line-strong); color: var(--soft); }
.markdown hr { border: 0; border-top: 1px solid var(--line); }
.markdown pre { padding: 0.6rem; }
table { width: 100%; border-collapse: collapse; }
th, td { padding: 0.3rem 0.6rem; border-bottom: 1px solid var(--line); text-align: start; vertical-align: top; }
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
button.quiet { min-height: 2rem; padding: 0 0.5rem; border-color: transparent; font-size: 0.875em; color: var(--soft); }
.note > .quiet { margin-inline-start: -0.5rem; }
button:hover { filter: brightness(1.08); border-color: currentcolor; }
button:disabled { opacity: 0.6; cursor: default; }
details > * + * { margin-top: 0.6rem; }
details label, .mode { display: flex; flex-direction: column; gap: 0.25rem; }
.way { display: flex; flex-wrap: wrap; gap: 0.6rem; align-items: center; }
.way p { flex: 1 1 14rem; }
summary { min-height: 1.75rem; color: var(--soft); cursor: pointer; }
.state { font-weight: 600; }
.problem { color: var(--bad); font-weight: 550; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
@media (pointer: coarse) {
  button, button.quiet, input:not([type="radio"]):not([type="checkbox"]), select, summary { min-height: 2.75rem; }
}
`;
