/**
 * What of a question is on the screen, and since when. For the page and the widget.
 *
 * In: the element of the question, and for a plan the element at its end. Out: times to measure a key by, and how much of the plan
 * was seen. While the question is new its controls are inert, so that a click that was on its way hits nothing. A question that was
 * hidden and comes up again is as new as one that was just drawn.
 */

import { isRead, type Key, type KeyState, type PlanSight, READ_MS, SETTLE_MS } from "./keys.js";

/** Everything of a form that a hand can act on. */
const CONTROLS = "label, input, textarea, select, button, summary";
/** Of the small element at the end of a plan: one that only touches the edge of the screen is not on it. */
const HALF = 0.5;
/** How often it is looked what is on the screen: no event tells of style, zoom and what lies over the end; short against `SETTLE_MS`. */
const LOOK_MS = 100;
/** States that are drawn after the question, and measured from then on. */
const STAGES: readonly KeyState[] = ["skipping", "asked", "review"];

type Timer = ReturnType<typeof setTimeout>;

export class Sight {
  /** Whether the question takes input. */
  ready = false;
  /** Whether the button that sends takes a click: what it does has not just changed. */
  steady = false;
  /** How much of the plan was seen; absent where the question is none. */
  plan: PlanSight | undefined;
  #root: HTMLElement | null = null;
  /** By the browser's own measure, which knows of boxes that scroll and clip. */
  #isRootInView = false;
  #isShown = false;
  #readable = false;
  #shownAt = Infinity;
  #stageAt = Infinity;
  #staged = false;
  #stopped = false;
  #looking: ReturnType<typeof setInterval> | undefined;
  #timers = new Set<Timer>();
  #rootWatcher: IntersectionObserver | null = null;
  #endWatcher: IntersectionObserver | null = null;
  #end: Element | null = null;
  /** What sticks to the lower edge and lies over the end. */
  #cover: () => Element | null = () => null;
  /** Null while the browser has not measured it yet. */
  #isEndInView: boolean | null = null;
  /** Whether the end was not looked for since the question came up. */
  #isFirstLook = true;
  #reading: Timer | null = null;
  #resting: HTMLElement[] = [];

  /** `changed` is called when `ready`, `steady` or `isPlanRead` have changed. */
  constructor(private readonly changed: () => void) {}

  /** The question was just put into the document. It is new from when it can be seen. */
  show(root: HTMLElement, isPlan: boolean): void {
    this.#root = root;
    this.#resting = [...root.querySelectorAll<HTMLElement>(CONTROLS)];
    for (const one of this.#resting) one.inert = true;
    root.addEventListener("click", (event) => this.#guard(event), { capture: true });
    if (isPlan) this.plan ??= "unread";
    this.#rootWatcher = new IntersectionObserver((entries) => {
      this.#isRootInView = entries.at(-1)?.isIntersecting ?? false;
      this.#look();
    });
    this.#rootWatcher.observe(root);
    this.#looking = setInterval(() => this.#look(), LOOK_MS);
  }

  /**
   * Looks whether the end of the plan comes on the screen: an element at its end, or the field where the plan is edited. `cover` finds
   * what sticks to the lower edge and lies over it.
   */
  watch(end: Element, cover: () => Element | null = () => null): void {
    this.#cover = cover;
    if (this.plan === undefined || this.plan === "read" || this.#end === end) return;
    // Another element than the first one comes up by something that the person did.
    if (this.#end) this.#isFirstLook = false;
    this.#end = end;
    this.#isEndInView = null;
    this.#endWatcher?.disconnect();
    const isField = end instanceof HTMLTextAreaElement;
    this.#endWatcher = new IntersectionObserver(
      (entries) => {
        const last = entries.at(-1);
        this.#isEndInView = last !== undefined && (isField ? last.isIntersecting : last.intersectionRatio >= HALF);
        this.#look();
      },
      { threshold: [0, HALF] },
    );
    this.#endWatcher.observe(end);
  }

  /** What the button that sends would do has just changed: a warning, or the review of all answers. */
  stage(): void {
    this.#staged = true;
    this.#stageAt = Infinity;
    this.steady = false;
    this.changed();
    this.#drawn((at) => {
      this.#stageAt = at;
      this.#later(SETTLE_MS, () => {
        // A later stage waits for itself.
        if (this.#stageAt !== at) return;
        this.steady = true;
        this.changed();
      });
    });
  }

  stop(): void {
    this.#stopped = true;
    clearInterval(this.#looking);
    this.#rootWatcher?.disconnect();
    this.#endWatcher?.disconnect();
    this.#forgetTimers();
    for (const one of this.#resting) one.inert = false;
  }

  /** How long the question had been on the screen at a moment of the page's clock; for a key that sends, the stage of it. */
  since(at: number, state: KeyState = "open", key: Key = "x"): number {
    const sends = key === "Enter" || key === "Ctrl+Enter" || key === "click";
    return at - (sends && STAGES.includes(state) ? Math.max(this.#stageAt, this.#shownAt) : this.#shownAt);
  }

  get isPlanRead(): boolean {
    return this.plan === undefined || isRead(this.plan, this.#readable ? READ_MS : 0);
  }

  #look(): void {
    if (this.#stopped || !this.#root) return;
    const isShown = this.#isRootInView && isRendered(this.#root);
    if (isShown !== this.#isShown) {
      this.#isShown = isShown;
      if (isShown) this.#drawn((at) => this.#begin(at));
      else this.#conceal();
    }
    if (this.#shownAt !== Infinity) this.#lookAtEnd();
  }

  #begin(at: number): void {
    // It may have been hidden, and have come up again, between the frames.
    if (!this.#isShown || this.#shownAt !== Infinity) return;
    this.#shownAt = at;
    this.#isFirstLook = true;
    this.#later(SETTLE_MS, () => this.#wake());
    this.#later(READ_MS, () => {
      this.#readable = true;
      this.changed();
    });
    if (this.#staged) this.stage();
    this.#lookAtEnd();
  }

  /** Nothing of it can be seen any more: it takes no input until it has been seen again for long enough. */
  #conceal(): void {
    this.#forgetTimers();
    this.#shownAt = this.#stageAt = Infinity;
    this.ready = this.steady = this.#readable = false;
    this.changed();
  }

  #lookAtEnd(): void {
    if (!this.#end || this.#isEndInView === null || this.plan === undefined || this.plan === "read") return;
    const isSeen = this.#isEndInView && isOnScreen(this.#end, this.#cover());
    if (!isSeen) {
      this.#isFirstLook = false;
      if (this.#reading) this.#cancel(this.#reading);
      this.#reading = null;
      if (this.plan !== "fits" || this.#readable) return;
      // It went away before it could be read.
      this.plan = "unread";
      this.changed();
    } else if (this.plan === "unread" && this.#isFirstLook) {
      this.plan = "fits";
      this.changed();
    } else if (this.plan === "unread") {
      // An Enter that was on its way when the end came up, such as by Tab to the button, is too early.
      this.#reading ??= this.#later(SETTLE_MS, () => {
        this.plan = "read";
        this.changed();
      });
    }
  }

  #wake(): void {
    for (const one of this.#resting) one.inert = false;
    this.#resting = [];
    this.ready = true;
    this.steady ||= !this.#staged;
    this.changed();
  }

  /** A busy page may learn of an early click when the controls are awake again: what counts is when the hand clicked. */
  #guard(event: Event): void {
    if (this.#stopped || this.since(event.timeStamp) >= SETTLE_MS) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }

  /** Calls with the time at which what was just changed is on the screen: after the next frame. */
  #drawn(then: (at: number) => void): void {
    requestAnimationFrame(() => {
      requestAnimationFrame(() => {
        if (!this.#stopped) then(performance.now());
      });
    });
  }

  #later(ms: number, act: () => void): Timer {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      act();
    }, ms);
    this.#timers.add(timer);
    return timer;
  }

  #cancel(timer: Timer): void {
    clearTimeout(timer);
    this.#timers.delete(timer);
  }

  #forgetTimers(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    this.#reading = null;
  }
}

/** Whether nothing around an element hides it. Browsers that cannot tell know where it is at least. */
function isRendered(element: Element): boolean {
  return element.checkVisibility?.({ opacityProperty: true, visibilityProperty: true }) ?? true;
}

/**
 * Whether the end of a plan is in what a person sees of the page: the part that is zoomed to, less what sticks to its lower edge. The last
 * line of a field counts when the field is scrolled to its end.
 */
function isOnScreen(end: Element, cover: Element | null): boolean {
  const { top, height, bottom } = end.getBoundingClientRect();
  const isField = end instanceof HTMLTextAreaElement;
  if (isField && (end.clientHeight === 0 || end.scrollTop + end.clientHeight < end.scrollHeight - 1)) return false;
  const at = isField ? bottom : top + height * HALF;
  const view = window.visualViewport;
  const from = view?.offsetTop ?? 0;
  const to = from + (view?.height ?? window.innerHeight);
  return at >= from && at <= Math.min(to, cover?.getBoundingClientRect().top ?? Infinity);
}
