/** Keys that work on every page: help, and `g` followed by a place. */

import { isTyping } from "./answer/keys.ts";
import type { AppState } from "./state/app.svelte.ts";
import { type Page, router } from "./state/route.svelte.ts";

const PLACES: Record<string, Page> = { i: "inbox", h: "history", s: "sources", e: "sessions" };
/** How long `g` waits for its second key. */
const PATIENCE_MS = 1500;

export function globalKeys(app: AppState): (event: KeyboardEvent) => void {
  let pressedG = 0;
  return (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    const afterG = Date.now() - pressedG < PATIENCE_MS;
    pressedG = 0;
    const place = PLACES[event.key];
    if (afterG && place) router.go(place);
    else if (event.key === "g") pressedG = Date.now();
    else if (event.key === "?") app.helpOpen = !app.helpOpen;
    else return;
    event.preventDefault();
  };
}
