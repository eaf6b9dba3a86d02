/**
 * Holds a question back until the agent's message has settled, so that no panel comes up in the middle of a sentence; once shown it
 * stays. In: the open question, and what the agent said last. Out: the id of the question to show.
 */

/** A message has settled when nothing was added to it for so long. */
const SETTLED_AFTER_MS = 600;
/** An agent that asks and talks on must not keep its question from the person for ever. */
const HELD_AT_MOST_MS = 5000;

export class Held {
  shown = $state<string | null>(null);
  #waiting: { id: string; since: number } | null = null;

  /** `open` is the id of the oldest open question; `heard` changes with every word of the agent. */
  constructor(open: () => string | undefined, heard: () => unknown) {
    $effect(() => {
      heard();
      const id = open();
      if (id === undefined || id === this.shown) return;
      if (this.#waiting?.id !== id) this.#waiting = { id, since: Date.now() };
      const patience = this.#waiting.since + HELD_AT_MOST_MS - Date.now();
      const timer = setTimeout(() => (this.shown = id), Math.max(0, Math.min(SETTLED_AFTER_MS, patience)));
      return () => clearTimeout(timer);
    });
  }
}
