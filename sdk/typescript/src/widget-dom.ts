/** Elements made by hand: attributes and text, never HTML, because agents' text is hostile. */

type Child = Node | string | null | undefined;

export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Record<string, string | boolean | null | undefined> = {},
  ...children: Child[]
): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(key, "");
    else if (typeof value === "string") made.setAttribute(key, value);
  }
  made.append(...children.filter((child): child is Node | string => child !== null && child !== undefined));
  return made;
}

/** Without what a terminal would obey; what would hide or reorder text is made visible. */
export function clean(text: string): string {
  return text
    .replace(SEQUENCES, "")
    .replace(/\r\n?/g, "\n")
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "\ufffd")
    .replace(/[\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "\ufffd");
}

const SEQUENCES = new RegExp(
  "(?:\u001b\\[|\u009b)[0-?]*[ -/]*[@-~]?|(?:\u001b[\\]PX^_]|[\u009d\u0090\u0098\u009e\u009f])[^\u0007\u009c\u001b]*(?:\u0007|\u009c|\u001b\\\\)?|\u001b[ -/]*[0-~]?",
  "g",
);

/** Only web addresses are links. */
export function safeLink(href: string): string | null {
  try {
    const url = new URL(href);
    return ["http:", "https:"].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}
