// An inbox in forty lines: shows each open question, takes the answer from the keyboard: node examples/terminal-inbox.mjs
import { createInterface } from "node:readline";
import { AlreadySettledError, AskdClient, InvalidAnswerError } from "askd";
import { clean } from "askd/text";

const askd = new AskdClient({ url: process.env.ASKD_URL, token: process.env.ASKD_TOKEN, surface: "terminal" });
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
let turn = Promise.resolve();
let next = read();

/** One line is always being read, so that the end of the input is noticed while nothing is asked, too. */
function read() {
  const line = lines.next();
  void line.then(({ done }) => done && stop());
  return line;
}

/** @param {import("askd").Question} question */
async function answer(question) {
  const answers = [];
  for (const item of question.questions) {
    // Agents' text could otherwise move the cursor, hide a part of itself or write to the clipboard.
    console.log(clean(`\n${question.agent} asks: ${item.question}`));
    item.options.forEach((option, i) => console.log(clean(`  ${i + 1}. ${option.label} ${option.description ?? ""}`)));
    const { value: line = "", done } = await next;
    if (done) return;
    next = read();
    const picked = item.options[Number(line) - 1];
    answers.push(picked ? [picked.value] : line === "" ? [] : [line]);
  }
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
