/** Small things that tests share. */

import { setTimeout as delay } from "node:timers/promises";

import type { AskInput } from "askd";

/** Tries until it holds, but not for ever. */
export async function eventually<T>(look: () => Promise<T> | T): Promise<NonNullable<T>> {
  const end = Date.now() + 60_000;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > end) throw new Error(`this never came true: ${look}`);
    await delay(20);
  }
}

export const WHICH: AskInput = {
  questions: [
    { question: "Which?", options: ["A", { label: "Bee", value: "b", description: "the second" }], custom: false },
  ],
};

export function ask(text: string, more: Partial<AskInput> = {}): AskInput {
  return { questions: [{ question: text }], ...more };
}

/** Asks without waiting for the outcome, and gives the id. */
export async function askedId(client: import("askd").AskdClient, input: AskInput = WHICH): Promise<string> {
  return (await client.ask(input, { wait: 0 })).question.id;
}

/** Numbers that look random and are the same in every run. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A promise that ends with the error that it was expected to end with. */
export async function failure(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("this should have failed");
}
