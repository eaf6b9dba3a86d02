/** How the widget looks. Every colour and length is a variable that the page around it may set. */

export const STYLE = `
:host {
  display: block;
  font: var(--askd-font, inherit);
  color: var(--askd-ink, inherit);
}
:host([state="hidden"]), [hidden] { display: none !important; }
form, .summary, .problem:only-child {
  display: flex;
  flex-direction: column;
  gap: var(--askd-gap, 0.75rem);
  padding: var(--askd-padding, 1rem);
  border: 1px solid var(--askd-line, #8884);
  border-radius: var(--askd-radius, 10px);
  background: var(--askd-surface, Canvas);
}
.summary { gap: 0.25rem; }
p, pre { margin: 0; }
fieldset { display: flex; flex-direction: column; gap: 0.5rem; min-width: 0; margin: 0; padding: 0; border: 0; }
legend { padding: 0; margin-bottom: 0.5rem; }
.header {
  display: inline-block;
  margin-right: 0.5rem;
  padding: 0 0.5rem;
  border-radius: 99px;
  background: var(--askd-accent-soft, #4338ca22);
  font-size: 0.85em;
}
.question { font-weight: 600; white-space: pre-wrap; overflow-wrap: anywhere; }
.columns { display: flex; flex-wrap: wrap; gap: 0.75rem; }
.options { display: flex; flex: 1 1 14rem; flex-direction: column; gap: 0.35rem; min-width: 0; }
.preview { flex: 2 1 18rem; }
.option {
  display: flex;
  gap: 0.6rem;
  align-items: flex-start;
  min-height: 2.5rem;
  padding: 0.4rem 0.6rem;
  border: 1px solid var(--askd-line, #8884);
  border-radius: calc(var(--askd-radius, 10px) * 0.7);
  cursor: pointer;
}
.option:has(:checked) { border-color: var(--askd-accent, #4338ca); background: var(--askd-accent-soft, #4338ca14); }
.option > span { display: flex; flex-direction: column; overflow-wrap: anywhere; }
.option input:not([type="radio"], [type="checkbox"]) { flex: 1; }
input[type="radio"], input[type="checkbox"] { margin-top: 0.3rem; accent-color: var(--askd-accent, #4338ca); }
input:not([type="radio"], [type="checkbox"]), textarea, select {
  box-sizing: border-box;
  width: 100%;
  min-width: 0;
  padding: 0.4rem 0.6rem;
  border: 1px solid var(--askd-line-strong, #888);
  border-radius: calc(var(--askd-radius, 10px) * 0.6);
  background: var(--askd-field, Field);
  color: inherit;
  font: inherit;
}
pre {
  max-height: 20rem;
  padding: 0.6rem;
  overflow: auto;
  border: 1px solid var(--askd-line, #8884);
  border-radius: calc(var(--askd-radius, 10px) * 0.6);
  font: 0.85em / 1.5 ui-monospace, monospace;
}
pre.body { white-space: pre-wrap; overflow-wrap: anywhere; }
button {
  min-height: 2.5rem;
  padding: 0 1rem;
  border: 1px solid var(--askd-line-strong, #888);
  border-radius: calc(var(--askd-radius, 10px) * 0.7);
  background: none;
  color: inherit;
  font: inherit;
  cursor: pointer;
}
button.primary {
  border-color: var(--askd-accent, #4338ca);
  background: var(--askd-accent, #4338ca);
  color: var(--askd-accent-ink, #fff);
}
button:disabled { opacity: 0.6; }
details > * + * { margin-top: 0.5rem; }
summary { cursor: pointer; }
.soft { opacity: 0.75; font-size: 0.9em; }
.problem { color: var(--askd-bad, #c0271f); }
:focus-visible { outline: 2px solid var(--askd-accent, #4338ca); outline-offset: 2px; }
`;
