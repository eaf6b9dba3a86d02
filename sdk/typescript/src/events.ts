/**
 * `/v1/events`: the hub's log from a cursor on.
 *
 * In: where to start and what to hear of. Out: batches of events; each event once, in order.
 */

import { feedOf, sharedBatches } from "./feed.js";
import type { Http } from "./http.js";
import { Log } from "./log.js";
import { follow, type FollowOptions } from "./stream.js";
import type { AskdEvent, EventFilter } from "./types.js";

export interface EventOptions extends FollowOptions {
  /** Go on after this event. Without it the stream starts now, which is when the first event is asked for. */
  after?: number | undefined;
  filter?: EventFilter | undefined;
}

/** In a page all who hear of the same hub share one stream. Elsewhere each has its own, which the hub filters. */
export function eventBatches(http: Http, options: EventOptions): AsyncGenerator<AskdEvent[], void, void> {
  const feed = canMatch(options.filter) ? feedOf(http) : null;
  if (feed) return sharedBatches(feed, http, options);
  return follow(http, new Log(http, options.after, options.filter), options);
}

/** A session may be named by its agent's own id, which no event carries: then only the hub can tell what is of it. */
function canMatch(filter: EventFilter | undefined): boolean {
  return filter?.session === undefined || /^ses_[0-9a-z]{26}$/.test(filter.session);
}
