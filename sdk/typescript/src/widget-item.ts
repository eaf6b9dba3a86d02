/** One item of a question in the widget: options with previews, own words, or a typed field, and a note. */

import { looksLikeMarkdown } from "./markdown.js";
import { clean, safeLink } from "./safe-text.js";
import type { Choice, Input, Item, ItemAnswer } from "./types.js";
import { button, element } from "./widget-dom.js";
import type { ItemDraft } from "./widget-drafts.js";
import { markdown, scrolled } from "./widget-text.js";
import { say } from "./widget-words.js";

/** A list of more options has a field to filter it by. */
const MANY_OPTIONS = 12;

const TYPES: Partial<Record<Input, string>> = { date: "date", datetime: "datetime-local", email: "email", uri: "url" };

export class ItemField {
  readonly root: HTMLElement;
  readonly #picks = new Map<HTMLInputElement, Choice>();
  readonly #other: HTMLInputElement | null = null;
  readonly #words: HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement | null = null;
  /** What the field held before anybody touched it. */
  readonly #untouched: string = "";
  readonly #note = element("input", { "aria-label": say.note, placeholder: say.note, part: "input", dir: "auto" });
  #openNote = (): void => undefined;
  readonly #preview = element("div", { class: "preview", part: "preview", hidden: true });
  readonly #complaint = element("p", { class: "problem", part: "problem", role: "alert", hidden: true });

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
      this.#words.setAttribute("part", "input");
      this.#words.setAttribute("dir", "auto");
      fields.push(this.#words);
    } else if (item.custom) {
      this.#other = element("input", { type: item.multiple ? "checkbox" : "radio", name, "aria-label": say.other });
      this.#words = element("input", {
        "aria-label": say.otherAnswer,
        placeholder: say.yourAnswer,
        part: "input",
        dir: "auto",
      });
      fields.push(this.#otherOption(this.#other, this.#words));
    }
    const head = element(
      "div",
      { id: `${name}-name`, class: "head" },
      item.header ? element("span", { class: "header", part: "header", dir: "auto" }, clean(item.header)) : null,
      element("div", { class: "question", part: "question", tabindex: "-1" }, markdown(item.question)),
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
      element(
        "div",
        { class: "columns" },
        element("div", { class: "options" }, this.#filterOf(fields), ...fields),
        this.#preview,
      ),
      noted ? this.#noteLine() : null,
      this.#complaint,
    );
    this.#peek(item.options.find(({ preview }) => preview));
  }

  #filterOf(fields: Node[]): HTMLElement | null {
    const { options } = this.item;
    if (options.length < MANY_OPTIONS) return null;
    const label = say.filter(options.length);
    const filter = element("input", {
      type: "search",
      class: "filter",
      part: "filter",
      "aria-label": label,
      placeholder: label,
    });
    filter.addEventListener("input", () => {
      const wanted = filter.value.trim().toLowerCase();
      [...this.#picks].forEach(([box, { label: text, description }], i) => {
        const fits = `${text} ${description ?? ""}`.toLowerCase().includes(wanted);
        const field = fields[i];
        // What is picked stays in sight.
        if (field instanceof HTMLElement) field.hidden = !fits && !box.checked;
      });
    });
    return filter;
  }

  #option(option: Choice, name: string): HTMLElement {
    const box = element("input", { type: this.item.multiple ? "checkbox" : "radio", name });
    this.#picks.set(box, option);
    for (const event of ["focus", "change"]) box.addEventListener(event, () => this.#peek(option));
    // Nothing is picked before the person picks: what the asker suggests is only marked.
    const suggested = (this.item.default ?? []).some((text) => text === option.value || text === option.label);
    const label = element(
      "span",
      { class: "label", part: "label", dir: "auto" },
      clean(option.label),
      suggested ? element("span", { class: "soft" }, ` (${say.suggested})`) : null,
    );
    const words = element("span", { class: "words" }, label);
    if (option.description) words.append(element("span", { class: "soft", dir: "auto" }, clean(option.description)));
    return element("label", { class: "option", part: "option" }, box, words);
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
      { class: "option", part: "option" },
      element("label", {}, other, element("span", { class: "label", part: "label" }, say.other)),
      words,
    );
  }

  #noteLine(): HTMLElement {
    this.#note.hidden = true;
    const add = button(
      say.addNote,
      () => {
        this.#openNote();
        this.#note.focus();
      },
      { class: "quiet", part: "add-note" },
    );
    this.#openNote = () => {
      add.hidden = true;
      this.#note.hidden = false;
    };
    return element("div", { class: "note", part: "note" }, add, this.#note);
  }

  /** The preview beside the options: whole and scrollable, as text or as rendered Markdown. */
  #peek(option: Choice | undefined, rendered = looksLikeMarkdown(option?.preview ?? "")): void {
    if (!option?.preview) return;
    const text = option.preview;
    const toggle = button(rendered ? say.asText : say.asMarkdown, () => this.#peek(option, !rendered), {
      class: "quiet",
    });
    const sheet = rendered ? scrolled("div", say.preview, markdown(text)) : scrolled("pre", say.preview, clean(text));
    const name = element("span", {}, element("span", { class: "soft" }, `${say.preview} `), clean(option.label));
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

  /** What was filled in; nothing of a secret. */
  draft(): ItemDraft | null {
    if (this.item.secret) return null;
    const picks = [...this.#picks].filter(([box]) => box.checked).map(([, { value }]) => value);
    return { picks, isOther: this.#other?.checked ?? false, words: this.#words?.value ?? "", note: this.#note.value };
  }

  restore(draft: ItemDraft): void {
    for (const [box, { value }] of this.#picks) box.checked = draft.picks.includes(value);
    if (this.#other) this.#other.checked = draft.isOther;
    if (this.#words) this.#words.value = draft.words;
    this.#note.value = draft.note;
    if (draft.note !== "") this.#openNote();
  }

  /** The labels of what is picked. */
  picked(): string[] {
    if (this.item.secret) return [];
    return [...this.#picks].filter(([box]) => box.checked).map(([, { label }]) => label);
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
    this.root.querySelector<HTMLElement>("input:not(.filter), textarea, select")?.focus();
  }
}

/** The whole address is shown, because a label could lie. */
function outsideLink(url: string): HTMLElement {
  const href = safeLink(url);
  if (href === null) return element("p", { class: "soft" }, say.notALink(clean(url)));
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
  const count = [minItems ? say.atLeast(minItems) : "", maxItems != null ? say.atMost(maxItems) : ""]
    .filter(Boolean)
    .join(say.and);
  if (isList(item)) return say.onePerLine(count);
  if (item.multiple) return count ? say.pick(count) : say.pickMany;
  return item.required ? say.needed : null;
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
      element("option", { value: text }, value === text ? `${label} (${say.suggested})` : label);
    return element("select", {}, element("option", { value: "" }), choice("true", say.yes), choice("false", say.no));
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
