/** The keys that pick options: digits, then the letters that no command uses. */

const LETTERS = "abcdefmpqrtuvwxyz";

export function keyOf(index: number): string | null {
  if (index < 9) return String(index + 1);
  return LETTERS[index - 9] ?? null;
}

export function indexOf(key: string): number | null {
  if (/^[1-9]$/.test(key)) return Number(key) - 1;
  const letter = LETTERS.indexOf(key);
  return key.length === 1 && letter >= 0 ? letter + 9 : null;
}

/** Whether keys belong to the field that has the focus. */
export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement)
    return true;
  return target instanceof HTMLInputElement && !["radio", "checkbox", "button", "submit"].includes(target.type);
}
