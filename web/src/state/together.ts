/**
 * One stream of the hub for all tabs of a browser: browsers open six connections to a host, and each answer needs one of them.
 *
 * In: the hub. Out: the open questions after each list, and the events since. The tab that holds the lock follows the hub and tells the
 * others. Where the browser has no locks (plain HTTP from another machine), a tab follows the hub by itself while it can be seen.
 */

import { type AskdClient, type AskdEvent, isLoggedOut, type OpenState, type Question, words } from "../api.ts";

export interface News {
  /** All open questions, after a list; null with events. */
  open: Question[] | null;
  events: AskdEvent[];
  connection: "connecting" | "live" | "lost";
  /** Why the hub is not heard, where it is more than a lost connection. */
  trouble: string;
}

export interface Hearer {
  /** `leads` in one tab of the browser only. */
  hear(news: News, leads: boolean): void;
  loggedOut(reason: string): void;
}

const NAME = "askd.stream";
/** A tab that leads answers at once; one that is silent for so long is frozen, and loses the lead. */
const SILENCE_MS = 3000;
/** Something else answers where the hub was: it is looked for again after so long. */
const LOOK_AGAIN_MS = 3000;

/** What tabs say to each other: news, or the question for all that is known. */
type Message = { news: News } | { hello: true };

export function followTogether(hub: AskdClient, hearer: Hearer): () => void {
  const tab = "locks" in navigator ? new Tab(hub, hearer) : new LoneTab(hub, hearer);
  tab.start();
  return () => tab.stop();
}

/** Follows the hub; what the browser says about its network is a reason to look, and nothing more: a hub on this machine needs none. */
function lead(hub: AskdClient, hear: (news: News) => void, loggedOut: (reason: string) => void): () => void {
  let again: ReturnType<typeof setTimeout> | undefined;
  const watch = (): (() => void) =>
    hub.watchOpen((state, events) => {
      if (state.connection !== "stopped") return hear(newsOf(state, events));
      if (isLoggedOut(state.error)) return loggedOut(words(state.error));
      hear({
        open: null,
        events: [],
        connection: "lost",
        trouble: `What answers at this address is not the hub, or refuses this page: ${words(state.error)}.`,
      });
      again = setTimeout(look, LOOK_AGAIN_MS);
    });
  let stop = watch();
  const look = (): void => {
    stop();
    clearTimeout(again);
    stop = watch();
  };
  addEventListener("offline", look);
  addEventListener("online", look);
  return () => {
    removeEventListener("offline", look);
    removeEventListener("online", look);
    clearTimeout(again);
    stop();
  };
}

function newsOf(state: OpenState, events: AskdEvent[]): News {
  const connection = state.connection === "stopped" ? "lost" : state.connection;
  const isList = events.length === 0 && state.seq !== null;
  return { open: isList ? [...state.questions.values()] : null, events, connection, trouble: "" };
}

class Tab {
  readonly #channel = new BroadcastChannel(NAME);
  /** Ends the lead of this tab. */
  #quit: (() => void) | null = null;
  /** All that the leader knows, for tabs that come later. */
  #known: News = { open: null, events: [], connection: "connecting", trouble: "" };
  #waiting = new AbortController();
  #suspicion: ReturnType<typeof setTimeout> | undefined;
  #stopped = false;

  constructor(
    readonly hub: AskdClient,
    readonly hearer: Hearer,
  ) {}

  start(): void {
    this.#channel.onmessage = ({ data }: MessageEvent<Message>) => this.#hear(data);
    document.addEventListener("visibilitychange", this.#seen);
    this.#queue();
    this.#ask();
  }

  stop(): void {
    this.#stopped = true;
    document.removeEventListener("visibilitychange", this.#seen);
    clearTimeout(this.#suspicion);
    this.#waiting.abort();
    this.#quit?.();
    this.#channel.close();
  }

  readonly #seen = (): void => {
    if (!document.hidden) this.#ask();
  };

  /** Asks the tab that leads what it knows. A browser freezes hidden tabs, and one that is frozen must not lead. */
  #ask(): void {
    if (this.#quit) return;
    this.#say({ hello: true });
    clearTimeout(this.#suspicion);
    this.#suspicion = setTimeout(() => this.#queue(true), SILENCE_MS);
  }

  #queue(steal = false): void {
    if (this.#stopped || this.#quit) return;
    this.#waiting.abort();
    const waiting = (this.#waiting = new AbortController());
    const options = steal ? { steal } : { signal: waiting.signal };
    void navigator.locks
      .request(NAME, options, () => (waiting.signal.aborted ? undefined : this.#lead()))
      // Given up here, or taken by a tab that believed this one to be frozen.
      .catch(() => {
        if (waiting.signal.aborted) return;
        this.#quit?.();
        this.#queue();
      });
  }

  /** Leads until it stops or the lock is taken away. */
  #lead(): Promise<void> {
    clearTimeout(this.#suspicion);
    return new Promise((release) => {
      const stop = lead(
        this.hub,
        (news) => this.#tell(news),
        (reason) => this.hearer.loggedOut(reason),
      );
      this.#quit = () => {
        this.#quit = null;
        stop();
        release();
      };
    });
  }

  #tell(news: News): void {
    this.#say({ news });
    this.#keep(news);
    this.hearer.hear(news, true);
  }

  #keep(news: News): void {
    let open = news.open ?? this.#known.open;
    if (open && news.events.length > 0) {
      const all = new Map(open.map((question) => [question.id, question]));
      for (const event of news.events) {
        if (!("question" in event)) continue;
        if (event.question.status === "requested") all.set(event.question.id, event.question);
        else all.delete(event.question.id);
      }
      open = [...all.values()];
    }
    this.#known = { ...news, open, events: [] };
  }

  #say(message: Message): void {
    if (!this.#stopped) this.#channel.postMessage(message);
  }

  #hear(message: Message): void {
    if ("hello" in message) {
      if (this.#quit) this.#say({ news: this.#known });
    } else if (!this.#quit) {
      clearTimeout(this.#suspicion);
      this.#keep(message.news);
      this.hearer.hear(message.news, false);
    }
  }
}

/** Without locks no tab can be sure to lead alone, so each follows the hub while it can be seen. */
class LoneTab {
  #quit: (() => void) | null = null;

  constructor(
    readonly hub: AskdClient,
    readonly hearer: Hearer,
  ) {}

  start(): void {
    document.addEventListener("visibilitychange", this.#seen);
    this.#seen();
  }

  stop(): void {
    document.removeEventListener("visibilitychange", this.#seen);
    this.#quit?.();
  }

  readonly #seen = (): void => {
    if (document.hidden) {
      this.#quit?.();
      this.#quit = null;
    } else {
      this.#quit ??= lead(
        this.hub,
        (news) => this.hearer.hear(news, true),
        (reason) => this.hearer.loggedOut(reason),
      );
    }
  };
}
