/** The time, as often as waiting times need it. */

const TICK_MS = 1000;

class Clock {
  now = $state(Date.now());

  constructor() {
    setInterval(() => {
      if (!document.hidden) this.now = Date.now();
    }, TICK_MS);
    document.addEventListener("visibilitychange", () => {
      this.now = Date.now();
    });
  }
}

export const clock = new Clock();
