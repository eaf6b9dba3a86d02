/** What of a question is on the screen, as a state of the page. */

import { Sight } from "askd/sight";

export class Seen {
  ready = $state(false);
  steady = $state(false);
  /** Whether the question is no plan, or the end of the plan was seen for long enough. */
  read = $state(false);
  readonly sight = new Sight(() => this.#look());

  #look(): void {
    ({ ready: this.ready, steady: this.steady, isPlanRead: this.read } = this.sight);
  }
}
