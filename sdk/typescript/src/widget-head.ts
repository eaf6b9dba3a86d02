/** Who asks, from where, since when and until when, and what was said just before. */

import { clean } from "./safe-text.js";
import type { Question } from "./types.js";
import { element } from "./widget-dom.js";
import { markdown } from "./widget-text.js";
import { moment, span, say } from "./widget-words.js";

/** How often the times are counted on: they are shown in minutes. */
const TICK_MS = 15_000;

const AGENTS: Record<string, string> = {
  claude: "Claude Code",
  opencode: "OpenCode",
  codex: "Codex",
  amp: "Amp",
  copilot: "Copilot",
  cursor: "Cursor",
  gemini: "Gemini",
  goose: "Goose",
  kimi: "Kimi",
  pi: "Pi",
  mock: "Mock agent",
  demo: "Demo",
  api: "A program",
};

export function agentName(agent: string): string {
  return Object.hasOwn(AGENTS, agent) ? (AGENTS[agent] ?? agent) : clean(agent);
}

export class Head {
  readonly root: HTMLElement;
  /** What the whole form is called; its items are called by their questions. */
  readonly name: string;
  readonly #since = element("span", { part: "since" });
  readonly #deadline = element("span", { part: "deadline", class: "deadline", hidden: true });
  #ticking: ReturnType<typeof setInterval> | undefined;

  constructor(private readonly question: Question) {
    const { agent, kind, context } = question;
    this.name = `${agentName(agent)} ${say.verbs[kind]}`;
    const facts = [context.title, context.cwd].filter((fact) => fact != null && fact !== "");
    const host = context.host ? element("span", { dir: "auto" }, say.on(clean(context.host))) : null;
    this.root = element(
      "div",
      { part: "head", class: "who" },
      element("strong", { part: "agent", dir: "auto" }, this.name),
      element(
        "span",
        { part: "context", class: "facts soft" },
        ...facts.map((fact) => element("span", { dir: "auto" }, clean(fact ?? ""))),
        host,
        this.#since,
        this.#deadline,
      ),
      context.excerpt
        ? element(
            "details",
            { part: "excerpt", class: "excerpt" },
            element("summary", {}, say.saidBefore),
            element("div", { class: "soft", dir: "auto" }, markdown(context.excerpt)),
          )
        : null,
    );
    this.#tick();
  }

  start(): void {
    clearInterval(this.#ticking);
    this.#ticking = setInterval(() => this.#tick(), TICK_MS);
    this.#tick();
  }

  stop(): void {
    clearInterval(this.#ticking);
  }

  #tick(): void {
    const { createdAt, deadline } = this.question;
    this.#since.textContent = say.waiting(span(Math.max(0, Date.now() - Date.parse(createdAt))));
    this.#since.title = say.asked(moment(createdAt));
    if (deadline == null) return;
    this.#deadline.textContent = say.until(moment(deadline), span(Math.max(0, Date.parse(deadline) - Date.now())));
    this.#deadline.hidden = false;
  }
}
