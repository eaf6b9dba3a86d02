// An inbox in fifty lines: shows each open question, takes the answer from the keyboard: node examples/terminal-inbox.mjs
import { createInterface } from "node:readline";
import { AlreadySettledError, AskdClient, InvalidAnswerError } from "askd";
import { clean } from "askd/text";

const askd = new AskdClient({ url: process.env.ASKD_URL, token: process.env.ASKD_TOKEN, surface: "terminal" });
const input = createInterface({ input: process.stdin });
let turn = Promise.resolve();
/** What was typed since the question was shown; null while nothing is asked. @type {string[] | null} */
let typed = null;
let wake = () => {};
let ended = false;

input.on("line", (line) => {
  // The next question is not visible yet: input now does not answer it.
  if (!typed) return console.log("nothing is asked");
  typed.push(line);
  wake();
});
input.on("close", () => {
  ended = true;
  wake();
  stop();
});

/** The next line, or undefined at the end of the input. */
async function nextLine() {
  if (!typed?.length && !ended) await new Promise((resolve) => (wake = () => resolve(undefined)));
  return typed?.shift();
}

/** @param {import("askd").Question} question */
async function answer(question) {
  const answers = [];
  typed = [];
  for (const item of question.questions) {
    // Agents' text could otherwise move the cursor, hide a part of itself or write to the clipboard.
    console.log(clean(`\n${question.agent} asks: ${item.question}`));
    item.options.forEach((option, i) => console.log(clean(`  ${i + 1}. ${option.label} ${option.description ?? ""}`)));
    const line = await nextLine();
    if (line === undefined) return;
    const picked = item.options[Number(line) - 1];
    answers.push(picked ? { picks: [picked.value] } : { words: line === "" ? [] : [line] });
  }
  typed = null;
  try {
    await askd.replyQuestion(question.id, answers);
    console.log("answered");
  } catch (error) {
    if (error instanceof AlreadySettledError) return console.log(`${error.by.actor} was faster (${error.by.surface})`);
    if (!(error instanceof InvalidAnswerError)) throw error;
    console.log(clean(error.errors.map((one) => one.message).join("; ")));
    await answer(question);
  }
}

// One question at a time, in the order in which they came.
const stop = askd.onQuestion((question) => void (turn = turn.then(() => answer(question))));
