/**
 * What a key, or a click on the button that sends, does to the question on the screen. Pure: no clock, no elements.
 *
 * In: the state of the question, where the focus is, the key, and how long the question had been on the screen when it was pressed.
 * Out: the effect. The rule is the table `tests/keys.json` of the repository, which the terminal's function runs as well.
 */

/** A question, or a new meaning of the button that sends, takes no input for so long: a hand that was on its way cannot stop. */
export const SETTLE_MS = 500;
/** A plan that fits the screen counts as read when it has been drawn for so long. */
export const READ_MS = 1000;

/** What the person has done with the question. */
export type KeyState =
  | "open"
  | "skipping"
  | "partial"
  | "asked"
  | "picked"
  | "left"
  | "review"
  | "refusing"
  | "sending"
  | "settled"
  | "lost";

/** How much of a plan was on the screen: its end not yet, its end at once without scrolling, or its end later. */
export type PlanSight = "unread" | "fits" | "read";

/** Where the focus is, if it is not on the question's text or nowhere. */
export type KeyFocus = "option" | "line" | "lines" | "send" | "control" | "row" | "other row" | "outside";

/** `1` is the key of an option, `x` any key without a meaning, `click` one on the button that sends. */
export type Key = "Enter" | "Ctrl+Enter" | "held Enter" | "1" | "s" | "Escape" | "x" | "click";

export type KeyEffect = "drop" | "none" | "pick" | "say" | "send" | "refuse" | "back" | "enter" | "open" | "next";

export interface KeyPress {
  state: KeyState;
  key: Key;
  /** Milliseconds since the question was drawn; for a key that sends, in `skipping`, `asked` and `review`, since that was. */
  since: number;
  plan?: PlanSight | undefined;
  focus?: KeyFocus | undefined;
}

export function keyEffect(press: KeyPress): KeyEffect {
  const { state, key, since, focus } = press;
  const enter = key === "Enter" || key === "Ctrl+Enter";
  if (focus === "outside") return "none";
  if (focus === "line" || focus === "lines") {
    if (key === "Escape") return "back";
    const sends = key === "Ctrl+Enter" || (focus === "line" && (key === "Enter" || key === "held Enter"));
    if (!sends) return "none";
  }
  if (state === "lost") return key === "Escape" ? "back" : "drop";
  if (key === "held Enter") return "drop";
  if (focus === "other row") return key === "Enter" ? "open" : "none";
  if (focus === "row" && key === "Enter") return "enter";
  if (focus === "control" && key === "Enter") return "none";
  if (state === "settled") return key === "Enter" ? "next" : "none";
  if (key === "Escape") return state === "refusing" ? "back" : "none";
  if (state === "sending" || since < SETTLE_MS) return "drop";
  if (state === "refusing") return enter ? "say" : "none";
  if (key === "1") return "pick";
  if (key === "s") return "refuse";
  if (key === "x") return "none";
  return maySend(press) ? "send" : "say";
}

function maySend({ state, key, since, plan, focus }: KeyPress): boolean {
  if (plan !== undefined && !isRead(plan, since)) return false;
  const byHand = key === "click" || (focus === "send" && key === "Enter");
  switch (state) {
    case "picked":
    case "review":
      return true;
    case "left":
      return byHand || key === "Ctrl+Enter" || focus === "line";
    case "asked":
      return byHand;
    case "skipping":
      return key === "click";
    default:
      // Only the button that approves a plan is a pick by itself.
      return state === "open" && plan !== undefined && byHand;
  }
}

/** Whether the end of a plan was on the screen for long enough. */
export function isRead(plan: PlanSight, since: number): boolean {
  return plan === "read" || (plan === "fits" && since >= READ_MS);
}
