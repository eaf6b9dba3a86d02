/** Keys that work on every page: help, and `g` followed by a place; and those that must not work. */

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

/** Comes before every other listener, and keeps from them the keys that were meant for something that is gone. */
export function keyGuard(app: AppState): (event: KeyboardEvent) => void {
  return (event) => {
    const wakes = app.keysRest && event.key === "Escape";
    if (wakes) app.keysRest = false;
    if (!wakes && !isHeldEnter(event) && !(app.keysRest && isShortcut(event))) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  };
}

/** An Enter that is still held is the same Enter: it submits once and moves nobody on. It may only write line after line. */
function isHeldEnter({ key, repeat, target, ctrlKey, metaKey }: KeyboardEvent): boolean {
  const writes =
    target instanceof HTMLTextAreaElement && target.dataset.otherText === undefined && !ctrlKey && !metaKey;
  return key === "Enter" && repeat && !writes;
}

function isShortcut({ key, target, altKey, ctrlKey, metaKey }: KeyboardEvent): boolean {
  if (isTyping(target) || altKey) return false;
  return key === "Enter" || (!ctrlKey && !metaKey && (key.length === 1 || key.startsWith("Arrow")));
}
