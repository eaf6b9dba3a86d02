/** One item of a question in the widget: options with previews, own words, or a typed field, and a note. */

import { looksLikeMarkdown } from "./markdown.js";
import { clean, safeLink } from "./safe-text.js";
import type { Choice, Input, Item, ItemAnswer } from "./types.js";
import { button, element } from "./widget-dom.js";
import { markdown, scrolled } from "./widget-text.js";

const TYPES: Partial<Record<Input, string>> = { date: "date", datetime: "datetime-local", email: "email", uri: "url" };

export class ItemField {
  readonly root: HTMLElement;
  readonly #picks = new Map<HTMLInputElement, Choice>();
  readonly #other: HTMLInputElement | null = null;
  readonly #words: HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement | null = null;
  /** What the field held before anybody touched it. */
  readonly #untouched: string = "";
  readonly #note = element("input", { "aria-label": "Note to the agent", placeholder: "Note to the agent" });
  readonly #preview = element("div", { class: "preview", hidden: true });
  readonly #complaint = element("p", { class: "problem", role: "alert", hidden: true });

  constructor(
    readonly item: Item,
    index: number,
    noted: boolean,
  ) {
    const name = `item-${index}`;
    const fields: Node[] = item.options.map((option) => this.#option(option, name));
    if (item.options.length === 0) {
      this.#words = field(item);
      this.#untouched = this.#words.value;
      this.#words.setAttribute("aria-labelledby", `${name}-name`);
      fields.push(this.#words);
    } else if (item.custom) {
      this.#other = element("input", { type: item.multiple ? "checkbox" : "radio", name, "aria-label": "Other" });
      this.#words = element("input", { "aria-label": "Other: your own answer", placeholder: "Your own answer" });
      fields.push(this.#otherOption(this.#other, this.#words));
    }
    const head = element(
      "div",
      { id: `${name}-name`, class: "head" },
      item.header ? element("span", { class: "header" }, clean(item.header)) : null,
      element("div", { class: "question", tabindex: "-1" }, markdown(item.question)),
    );
    const hint = hintOf(item);
    // A single field has its name itself.
    const group =
      item.options.length === 0
        ? {}
        : { role: item.multiple ? "group" : "radiogroup", "aria-labelledby": `${name}-name` };
    this.root = element(
      "div",
      { part: "item", class: "item", ...group },
      head,
      item.url ? outsideLink(item.url) : null,
      hint ? element("p", { class: "soft" }, hint) : null,
      element("div", { class: "columns" }, element("div", { class: "options" }, ...fields), this.#preview),
      noted ? this.#noteLine() : null,
      this.#complaint,
    );
    this.#peek(item.options.find(({ preview }) => preview));
  }

  #option(option: Choice, name: string): HTMLElement {
    const box = element("input", { type: this.item.multiple ? "checkbox" : "radio", name });
    this.#picks.set(box, option);
    for (const event of ["focus", "change"]) box.addEventListener(event, () => this.#peek(option));
    // Nothing is picked before the person picks: what the asker suggests is only marked.
    const suggested = (this.item.default ?? []).some((text) => text === option.value || text === option.label);
    const label = element(
      "span",
      { class: "label" },
      clean(option.label),
      suggested ? element("span", { class: "soft" }, " (suggested)") : null,
    );
    const words = element("span", { class: "words" }, label);
    if (option.description) words.append(element("span", { class: "soft" }, clean(option.description)));
    return element("label", { class: "option" }, box, words);
  }

  #otherOption(other: HTMLInputElement, words: HTMLInputElement): HTMLElement {
    words.addEventListener("input", () => {
      if (words.value.trim() !== "") other.checked = true;
    });
    other.addEventListener("change", () => {
      if (other.checked) words.focus();
    });
    return element(
      "div",
      { class: "option" },
      element("label", {}, other, element("span", { class: "label" }, "Other")),
      words,
    );
  }

  #noteLine(): HTMLElement {
    this.#note.hidden = true;
    const add = button(
      "Add a note",
      () => {
        add.hidden = true;
        this.#note.hidden = false;
        this.#note.focus();
      },
      { class: "quiet", part: "add-note" },
    );
    return element("div", { class: "note" }, add, this.#note);
  }

  /** The preview beside the options: whole and scrollable, as text or as rendered Markdown. */
  #peek(option: Choice | undefined, rendered = looksLikeMarkdown(option?.preview ?? "")): void {
    if (!option?.preview) return;
    const text = option.preview;
    const toggle = button(rendered ? "Show as text" : "Render Markdown", () => this.#peek(option, !rendered), {
      class: "quiet",
    });
    const sheet = rendered ? scrolled("div", "Preview", markdown(text)) : scrolled("pre", "Preview", clean(text));
    const name = element("span", {}, element("span", { class: "soft" }, "Preview "), clean(option.label));
    this.#preview.replaceChildren(element("div", { class: "bar" }, name, toggle), sheet);
    this.#preview.hidden = false;
  }

  /** Values of options and own words apart: the widget never leaves it to the hub which of them a text is. */
  answer(): Required<ItemAnswer> {
    const picks = [...this.#picks].filter(([box]) => box.checked).map(([, { value }]) => value);
    return { picks, words: this.#ownWords() };
  }

  get isAnswered(): boolean {
    const { picks, words } = this.answer();
    return picks.length + words.length > 0;
  }

  #ownWords(): string[] {
    const words = this.#words?.value ?? "";
    if (words.trim() === "" || (this.#other && !this.#other.checked)) return [];
    // What the person did not touch goes back as it came, whatever the field made of it.
    if (words === this.#untouched) return defaultValues(this.item);
    if (isList(this.item))
      return words
        .split("\n")
        .map((line) => line.trim())
        .filter((line) => line !== "");
    if (this.item.input === "datetime" && !Number.isNaN(Date.parse(words))) return [new Date(words).toISOString()];
    // The first of several lines may be indented for a reason.
    const own = words.trim().includes("\n") ? words.trimEnd() : words.trim();
    return [this.item.secret ? words : own];
  }

  /** Whether the person himself picked or wrote something. */
  hasOwn(): boolean {
    if (this.item.options.length === 0) return this.#words?.value !== this.#untouched;
    const words = this.#other?.checked === true && (this.#words?.value ?? "").trim() !== "";
    return words || [...this.#picks.keys()].some(({ checked }) => checked);
  }

  isOwnWords(field: EventTarget): boolean {
    return field === this.#words;
  }

  /** Picks an option by its key, and gives it the focus. */
  pick(index: number): void {
    const box = [...this.#picks.keys()][index];
    box?.focus();
    if (box && (this.item.multiple || !box.checked)) box.click();
  }

  note(): string | null {
    return this.#note.value.trim() || null;
  }

  typed(): string {
    if (this.item.secret) return "";
    const own = this.#words instanceof HTMLSelectElement ? "" : (this.#words?.value.trim() ?? "");
    const given = this.#words?.value === this.#untouched ? "" : own;
    return [given, this.#note.value.trim()].filter(Boolean).join("\n");
  }

  complain(message: string | null): void {
    this.#complaint.textContent = clean(message ?? "");
    this.#complaint.hidden = message === null;
    this.#words?.setAttribute("aria-invalid", String(message !== null));
  }

  focus(): void {
    this.root.querySelector<HTMLElement>("input, textarea, select")?.focus();
  }
}

/** The whole address is shown, because a label could lie. */
function outsideLink(url: string): HTMLElement {
  const href = safeLink(url);
  if (href === null) return element("p", { class: "soft" }, `Not a web address, so it is no link: ${clean(url)}`);
  return element("a", { href, target: "_blank", rel: "noopener noreferrer" }, clean(href));
}

/** Several own words, one a line. A secret is masked, and what is masked has no lines. */
function isList(item: Item): boolean {
  return item.options.length === 0 && item.multiple && !item.secret;
}

/** What an untouched field stands for: of several values only a list takes more than the first. */
function defaultValues(item: Item): string[] {
  return (item.default ?? []).slice(0, isList(item) ? undefined : 1);
}

function hintOf(item: Item): string | null {
  const { minItems, maxItems } = item.bounds ?? {};
  const count = [minItems ? `at least ${minItems}` : "", maxItems != null ? `at most ${maxItems}` : ""]
    .filter(Boolean)
    .join(" and ");
  if (isList(item)) return count ? `One a line, ${count}.` : "One a line.";
  if (item.multiple) return count ? `Pick ${count}.` : "Pick as many as you like.";
  return item.required ? "Needs an answer." : null;
}

/** RFC 3339 to what a field for a date and time holds, in the reader's own zone. */
function localTime(text: string): string {
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) return "";
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, -1);
}

function field(item: Item): HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement {
  const text = defaultValues(item).join("\n");
  if (isList(item)) return Object.assign(element("textarea", { rows: "4" }), { value: text });
  const value = item.input === "datetime" ? localTime(text) : text;
  if (item.input === "boolean") {
    const choice = (text: string, label: string) =>
      element("option", { value: text }, value === text ? `${label} (suggested)` : label);
    return element("select", {}, element("option", { value: "" }), choice("true", "Yes"), choice("false", "No"));
  }
  if (item.secret && item.input === "multiline") {
    // A key of several lines keeps them: a password field would make spaces of them.
    return Object.assign(
      element("textarea", { rows: "5", class: "masked", autocomplete: "off", spellcheck: "false" }),
      { value },
    );
  }
  if (!item.secret && (item.input == null || item.input === "multiline")) {
    return Object.assign(element("textarea", { rows: "2" }), { value });
  }
  const type = item.secret ? "password" : (TYPES[item.input ?? "text"] ?? "text");
  const inputmode = item.input === "integer" ? "numeric" : item.input === "number" ? "decimal" : null;
  return Object.assign(element("input", { type, inputmode, autocomplete: item.secret ? "new-password" : "off" }), {
    value,
  });
}
