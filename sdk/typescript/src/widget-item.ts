/** One item of a question in the widget: options with previews, own words, or a typed field. */

import type { Choice, Input, Item } from "./types.js";
import { clean, element, safeLink } from "./widget-dom.js";

const TYPES: Partial<Record<Input, string>> = { date: "date", datetime: "datetime-local", email: "email", uri: "url" };

export class ItemField {
  readonly root: HTMLElement;
  readonly #picks = new Map<HTMLInputElement, Choice>();
  readonly #other: HTMLInputElement | null = null;
  readonly #words: HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement | null = null;
  readonly #note = element("input", { "aria-label": "Note to the agent", placeholder: "Note to the agent (optional)" });
  readonly #preview = element("pre", { class: "preview", tabindex: "0", "aria-label": "Preview", hidden: true });
  readonly #complaint = element("p", { class: "problem", hidden: true });

  constructor(
    readonly item: Item,
    index: number,
  ) {
    const name = `item-${index}`;
    const fields: Node[] = item.options.map((option) => this.#option(option, name));
    if (item.options.length === 0) {
      this.#words = field(item);
      fields.push(this.#words);
    } else if (item.custom) {
      this.#other = element("input", { type: item.multiple ? "checkbox" : "radio", name });
      this.#words = element("input", { "aria-label": "Other: your own answer", placeholder: "Your own answer" });
      const [other, words] = [this.#other, this.#words];
      words.addEventListener("input", () => (other.checked = words.value.trim() !== "" || other.checked));
      fields.push(element("label", { class: "option" }, other, element("span", {}, "Other"), words));
    }
    const link = item.url ? this.#link(item.url) : null;
    const head = [
      item.header ? element("span", { class: "header" }, clean(item.header)) : null,
      element("span", { class: "question" }, clean(item.question)),
    ];
    const columns = element("div", { class: "columns" }, element("div", { class: "options" }, ...fields), this.#preview);
    const noted = item.options.length > 0 ? this.#note : null;
    this.root = element("fieldset", { part: "item" }, element("legend", {}, ...head), link, columns, noted, this.#complaint);
    this.#words?.setAttribute("aria-label", this.#other ? "Other: your own answer" : clean(item.question));
    this.#peek(item.options.find(({ preview }) => preview));
  }

  #option(option: Choice, name: string): HTMLElement {
    const { multiple } = this.item;
    const chosen = (this.item.default ?? []).some((text) => text === option.value || text === option.label);
    const box = element("input", { type: multiple ? "checkbox" : "radio", name });
    box.checked = chosen;
    this.#picks.set(box, option);
    box.addEventListener("focus", () => this.#peek(option));
    const words = element("span", {}, element("span", { class: "label" }, clean(option.label)));
    if (option.description) words.append(element("span", { class: "soft" }, clean(option.description)));
    return element("label", { class: "option" }, box, words);
  }

  #link(url: string): HTMLElement {
    const href = safeLink(url);
    if (href === null) return element("p", { class: "soft" }, `Not a web address: ${clean(url)}`);
    return element("a", { href, target: "_blank", rel: "noopener noreferrer" }, clean(href));
  }

  #peek(option: Choice | undefined): void {
    if (!option?.preview) return;
    this.#preview.textContent = clean(option.preview);
    this.#preview.hidden = false;
  }

  answer(): string[] {
    const picks = [...this.#picks].filter(([box]) => box.checked).map(([, { value }]) => value);
    const words = this.#words?.value ?? "";
    if (words.trim() === "" || (this.#other && !this.#other.checked)) return picks;
    if (this.item.input === "datetime" && !Number.isNaN(Date.parse(words))) return [new Date(words).toISOString()];
    return picks.includes(words.trim()) ? picks : [...picks, words.trim()];
  }

  note(): string | null {
    return this.#note.value.trim() || null;
  }

  typed(): string {
    if (this.item.secret) return "";
    const own = this.#words instanceof HTMLSelectElement ? "" : (this.#words?.value.trim() ?? "");
    return [own, this.#note.value.trim()].filter(Boolean).join("\n");
  }

  complain(message: string | null): void {
    this.#complaint.textContent = clean(message ?? "");
    this.#complaint.hidden = message === null;
  }

  focus(): void {
    this.root.querySelector<HTMLElement>("input, textarea, select")?.focus();
  }
}

function field(item: Item): HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement {
  const value = item.default?.[0] ?? "";
  if (item.input === "boolean") {
    const choice = (text: string, label: string) => element("option", { value: text, selected: value === text }, label);
    return element("select", {}, choice("", ""), choice("true", "Yes"), choice("false", "No"));
  }
  if (!item.secret && (item.input == null || item.input === "multiline")) {
    return Object.assign(element("textarea", { rows: "2" }), { value });
  }
  const type = item.secret ? "password" : (TYPES[item.input ?? "text"] ?? "text");
  return Object.assign(element("input", { type, autocomplete: item.secret ? "new-password" : "off" }), { value });
}
