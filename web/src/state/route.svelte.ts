/** Where the person is, by the address's fragment. */

export type Page = "inbox" | "history" | "sources" | "sessions";
const PAGES: readonly Page[] = ["inbox", "history", "sources", "sessions"];

export interface Route {
  page: Page;
  /** The question or session that is open on that page. */
  id: string | null;
}

export function parseRoute(hash: string): Route {
  const [first = "", second] = hash.replace(/^#\/?/, "").split("/");
  const page = PAGES.find((name) => name === first) ?? "inbox";
  return { page, id: second ? decoded(second) : null };
}

/** An address that a person has mistyped is an id that the hub does not know. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function address(page: Page, id: string | null = null): string {
  return id === null ? `#/${page}` : `#/${page}/${encodeURIComponent(id)}`;
}

class Router {
  current = $state.raw<Route>(parseRoute(location.hash));

  constructor() {
    addEventListener("hashchange", () => {
      this.current = parseRoute(location.hash);
    });
  }

  /** The page is there at once: the next key, which may come before the browser tells of the new address, acts on it. */
  go(page: Page, id: string | null = null): void {
    location.hash = address(page, id);
    this.current = parseRoute(location.hash);
  }
}

export const router = new Router();
