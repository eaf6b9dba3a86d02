/** The browser's storage, which may be full, forbidden or damaged: then the page works on without memory. */

export function read<T>(key: string): T | null {
  try {
    const text = localStorage.getItem(`askd.${key}`);
    return text === null ? null : (JSON.parse(text) as T);
  } catch {
    return null;
  }
}

export function write(key: string, value: unknown): void {
  try {
    if (value === null) localStorage.removeItem(`askd.${key}`);
    else localStorage.setItem(`askd.${key}`, JSON.stringify(value));
  } catch {
    // Nothing sensible can be done, and the page itself still holds the value.
  }
}

export function keys(prefix: string): string[] {
  try {
    const all = Array.from({ length: localStorage.length }, (_, i) => localStorage.key(i) ?? "");
    return all.filter((key) => key.startsWith(`askd.${prefix}`)).map((key) => key.slice("askd.".length));
  } catch {
    return [];
  }
}
