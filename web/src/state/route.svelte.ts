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
  return { page, id: second ? decodeURIComponent(second) : null };
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

  go(page: Page, id: string | null = null): void {
    location.hash = address(page, id);
  }
}

export const router = new Router();
