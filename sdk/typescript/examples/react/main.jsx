// Questions in a chat of React: npm run build (in sdk/typescript), then here npm install && npm start, and open
// http://localhost:8754/#hub=http://127.0.0.1:2753&token=TOKEN with a hub that allows it: askd up --allow-origin http://localhost:8754

import { AskdClient } from "askd";
import { AskdProvider, Question, useQuestion, useQuestions } from "askd/react";
import { useEffect, useState } from "react";
import { createRoot } from "react-dom/client";

const given = new URLSearchParams(location.hash.slice(1));
const client = new AskdClient({ url: given.get("hub"), token: given.get("token"), surface: "web" });

/** A permission with one button for each option: the page's own part, by the kind of the question. */
function Permission({ question, state, answer, error }) {
  const [item] = question.questions;
  if (state === "settled") return <p>{`${item.question} ${question.outcome.answers?.[0]?.labels.join() ?? question.status}`}</p>;
  return (
    <fieldset disabled={state !== "asking"}>
      <legend>{item.question}</legend>
      <pre>{question.body?.text}</pre>
      {item.options.map(({ label, value }) => (
        <button key={value} type="button" onClick={() => answer([{ picks: [value], words: [] }]).catch(() => undefined)}>
          {label}
        </button>
      ))}
      {error && <p role="alert">{error.message}</p>}
    </fieldset>
  );
}

/** One question without any look of askd: its text, a field, and what was typed is kept by askd. */
function Headless({ callId }) {
  const { question, state, draft = "", setDraft, answer } = useQuestion(callId);
  if (!question) return <p>The agent is thinking…</p>;
  if (state !== "asking") return <p>{`${callId} is ${state}`}</p>;
  return (
    <form onSubmit={(event) => (event.preventDefault(), void answer([{ picks: [], words: [draft] }]))}>
      <label>
        {question.questions[0].question}
        <input value={draft} onChange={(event) => setDraft(event.target.value)} />
      </label>
      <button type="submit">Send</button>
    </form>
  );
}

function Chat() {
  const { questions, connection } = useQuestions();
  const [ids, setIds] = useState([]);
  const [settled, setSettled] = useState(0);
  // What is settled stays in the chat.
  useEffect(() => {
    setIds((known) => [...known, ...questions.map(({ id }) => id).filter((id) => !known.includes(id))]);
  }, [questions]);
  return (
    <>
      <p role="status">{`${questions.length} open, ${settled} settled, ${connection}`}</p>
      <button type="button" onClick={() => setIds(ids.toReversed())}>
        Turn around
      </button>
      {ids.map((id) => (
        <Question key={id} questionId={id} renderers={{ permission: Permission }} onSettled={() => setSettled((count) => count + 1)} />
      ))}
      {given.has("call") && <Headless callId={given.get("call")} />}
    </>
  );
}

createRoot(document.querySelector("#chat")).render(
  <AskdProvider client={client}>
    <Chat />
  </AskdProvider>,
);
