/**
 * React: questions as hooks, and as a component that shows them.
 *
 * In: a client, by `<AskdProvider>` or as an option. Out: state that follows the hub; all hooks of a page share one stream.
 */

import {
  createContext,
  createElement,
  type ReactElement,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useMemo,
  useRef,
  useState,
} from "react";

import type { AskdClient } from "./client.js";
import { isTravelling } from "./newer.js";
import type { RejectOptions, ReplyOptions } from "./questions.js";
import type { Connection } from "./stream.js";
import type { Answers, EventFilter, Kind, Question as AskdQuestion } from "./types.js";
import type { QuestionState, QuestionWatch, Which } from "./watch-question.js";
import type { AskdQuestionElement, AskdQuestionEvents } from "./widget.js";

const Context = createContext<AskdClient | null>(null);

/** The client of everything inside. */
export function AskdProvider(props: { client: AskdClient; children?: ReactNode }): ReactElement {
  return createElement(Context.Provider, { value: props.client }, props.children);
}

interface ClientOption {
  /** Instead of the provider's. */
  client?: AskdClient | undefined;
}

/** The client, and the same one for as long as it is the same hub and token: a parent may make a new object in each render. */
function useClient(given: AskdClient | undefined): AskdClient {
  const around = useContext(Context);
  const client = given ?? around;
  if (!client)
    throw new Error("there is no askd client: put <AskdProvider client={...}> around, or give the option `client`");
  const kept = useRef(client);
  if (kept.current !== client && !kept.current.isLike(client)) kept.current = client;
  return kept.current;
}

export interface Questions {
  /** Open questions, oldest first. */
  questions: AskdQuestion[];
  connection: Connection | "stopped";
  error: unknown;
}

/** All open questions, live. */
export function useQuestions(options: ClientOption & { filter?: Omit<EventFilter, "status"> } = {}): Questions {
  const client = useClient(options.client);
  const [state, setState] = useState<Questions>({ questions: [], connection: "connecting", error: null });
  const { agent, session, callId } = options.filter ?? {};
  useEffect(
    () =>
      client.watchOpen(
        ({ questions, connection, error }) => setState({ questions: [...questions.values()], connection, error }),
        { filter: { agent, session, callId } },
      ),
    [client, agent, session, callId],
  );
  return state;
}

/** `hidden`: there is no question yet. `sending`: the answer is on its way to the hub; `waiting`: to the agent. */
export type TurnState = "hidden" | "asking" | "sending" | "waiting" | "settled" | "failed";

export interface QuestionTurn<Draft = unknown> {
  question: AskdQuestion | null;
  state: TurnState;
  connection: Connection | "stopped";
  /** Why the last answer was not taken, or why the hub cannot be followed. */
  error: unknown;
  answer(answers: Answers, options?: ReplyOptions): Promise<void>;
  reject(options?: RejectOptions): Promise<void>;
  /** What was filled in so far: kept for the question, also when the component is gone and comes again. */
  draft: Draft | undefined;
  setDraft(draft: Draft | undefined): void;
}

/** By hub and question, for as long as the page lives. */
const drafts = new Map<string, unknown>();

/** One question: of a tool call's id, or `{questionId}`. Also one that is not asked yet. */
export function useQuestion<Draft = unknown>(which: string | Which, options: ClientOption = {}): QuestionTurn<Draft> {
  const client = useClient(options.client);
  const { questionId, callId, session } = typeof which === "string" ? ({ callId: which } as Which) : which;
  const [seen, setSeen] = useState<QuestionState>(NOTHING);
  const [isSending, setSending] = useState(false);
  const [refused, setRefused] = useState<unknown>(null);
  const [, redraw] = useState(0);
  const watch = useRef<QuestionWatch | null>(null);
  useEffect(() => {
    setSeen(NOTHING);
    setRefused(null);
    if (questionId === undefined && callId === undefined) return undefined;
    const begun = client.watchQuestion({ questionId, callId, session }, setSeen);
    watch.current = begun;
    return () => begun.stop();
  }, [client, questionId, callId, session]);

  const { question } = seen;
  const id = question?.id;
  const key = `${client.url} ${id ?? callId}`;
  const send = useCallback(
    async (request: (id: string) => Promise<AskdQuestion>) => {
      if (id === undefined) throw new Error("there is no question yet");
      setSending(true);
      setRefused(null);
      const mine = watch.current;
      try {
        mine?.take(await request(id));
        drafts.delete(key);
      } catch (error) {
        setRefused(error);
        throw error;
      } finally {
        setSending(false);
      }
    },
    [id, key],
  );
  const answer = useCallback<QuestionTurn["answer"]>(
    (answers, more) => send((id) => client.replyQuestion(id, answers, more)),
    [client, send],
  );
  const reject = useCallback<QuestionTurn["reject"]>(
    (more) => send((id) => client.rejectQuestion(id, more)),
    [client, send],
  );
  const setDraft = useCallback(
    (draft: Draft | undefined) => {
      if (draft === undefined) drafts.delete(key);
      else drafts.set(key, draft);
      redraw((count) => count + 1);
    },
    [key],
  );
  return {
    question,
    state: stateOf(seen, isSending),
    connection: seen.connection,
    error: refused ?? seen.error,
    answer,
    reject,
    draft: drafts.get(key) as Draft | undefined,
    setDraft,
  };
}

const NOTHING: QuestionState = { question: null, connection: "connecting", error: null };

function stateOf({ question, connection, error }: QuestionState, isSending: boolean): TurnState {
  if (question && question.status !== "requested") return isTravelling(question) ? "waiting" : "settled";
  if (connection === "stopped" && error) return "failed";
  if (!question) return "hidden";
  return isSending ? "sending" : "asking";
}

export interface QuestionProps extends ClientOption, Which {
  /** Your own parts instead of the element, by the kind of the question. */
  renderers?: Partial<Record<Kind, (turn: QuestionTurn & { question: AskdQuestion }) => ReactNode>> | undefined;
  noNotes?: boolean | undefined;
  noRefusal?: boolean | undefined;
  className?: string | undefined;
  onAsked?: ((event: AskdQuestionEvents["askd-asked"]) => void) | undefined;
  onAccepted?: ((event: AskdQuestionEvents["askd-accepted"]) => void) | undefined;
  onWaiting?: ((event: AskdQuestionEvents["askd-waiting"]) => void) | undefined;
  onSettled?: ((event: AskdQuestionEvents["askd-settled"]) => void) | undefined;
  onFailed?: ((event: AskdQuestionEvents["askd-failed"]) => void) | undefined;
}

/** One question of a chat: the element `<askd-question>`, or your own part for its kind. */
export function Question(props: QuestionProps): ReactElement | null {
  return props.renderers ? createElement(Rendered, props) : createElement(Shown, props);
}

function Rendered(props: QuestionProps): ReactElement | null {
  const { questionId, callId, session, renderers } = props;
  const turn = useQuestion({ questionId, callId, session }, { client: props.client });
  const { question } = turn;
  const render = question ? renderers?.[question.kind] : undefined;
  // The element waits as well, so that a kind without a part of its own is shown by it.
  if (!question || !render) return createElement(Shown, props);
  return createElement("div", { className: props.className }, render({ ...turn, question }));
}

function Shown(props: QuestionProps): ReactElement {
  const client = useClient(props.client);
  const handlers = useRef(props);
  handlers.current = props;
  const [isDefined, setDefined] = useState(false);
  const [shown, setShown] = useState<AskdQuestionElement | null>(null);
  useEffect(() => {
    let gone = false;
    // The element is for browsers only, and not needed where each kind has a part of the page's own.
    void import("./widget.js").then(() => gone || setDefined(true));
    return () => {
      gone = true;
    };
  }, []);
  useEffect(() => {
    if (shown && isDefined) shown.client = client;
  }, [shown, isDefined, client]);
  useEffect(() => {
    if (!shown) return undefined;
    const ended = new AbortController();
    const { signal } = ended;
    shown.addEventListener("askd-asked", (event) => handlers.current.onAsked?.(event), { signal });
    shown.addEventListener("askd-accepted", (event) => handlers.current.onAccepted?.(event), { signal });
    shown.addEventListener("askd-waiting", (event) => handlers.current.onWaiting?.(event), { signal });
    shown.addEventListener("askd-settled", (event) => handlers.current.onSettled?.(event), { signal });
    shown.addEventListener("askd-failed", (event) => handlers.current.onFailed?.(event), { signal });
    return () => ended.abort();
  }, [shown]);
  return useMemo(
    () =>
      createElement("askd-question", {
        ref: setShown,
        class: props.className,
        "question-id": props.questionId,
        "call-id": props.callId,
        session: props.session,
        "no-notes": props.noNotes ? "" : undefined,
        "no-refusal": props.noRefusal ? "" : undefined,
      }),
    [props.className, props.questionId, props.callId, props.session, props.noNotes, props.noRefusal],
  );
}

declare module "react" {
  namespace JSX {
    interface IntrinsicElements {
      "askd-question": React.DetailedHTMLProps<React.HTMLAttributes<AskdQuestionElement>, AskdQuestionElement> & {
        "question-id"?: string | undefined;
        "call-id"?: string | undefined;
        session?: string | undefined;
        hub?: string | undefined;
        token?: string | undefined;
        client?: AskdClient | undefined;
        "no-notes"?: boolean | undefined;
        "no-refusal"?: boolean | undefined;
        "onaskd-asked"?: ((event: AskdQuestionEvents["askd-asked"]) => void) | undefined;
        "onaskd-accepted"?: ((event: AskdQuestionEvents["askd-accepted"]) => void) | undefined;
        "onaskd-waiting"?: ((event: AskdQuestionEvents["askd-waiting"]) => void) | undefined;
        "onaskd-settled"?: ((event: AskdQuestionEvents["askd-settled"]) => void) | undefined;
        "onaskd-failed"?: ((event: AskdQuestionEvents["askd-failed"]) => void) | undefined;
      };
    }
  }
}
