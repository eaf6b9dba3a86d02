/** Which links a person may follow from an agent's text: only those that cannot run code here. */

const SAFE = new Set(["http:", "https:", "mailto:"]);

export function safeLink(href: string): string | null {
  // A relative address would point into the inbox itself; an agent has no business there.
  if (!/^[a-z][a-z0-9+.-]*:/i.test(href)) return null;
  try {
    const url = new URL(href);
    return SAFE.has(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}
