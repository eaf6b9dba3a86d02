// An inbox in forty lines: shows each open question, takes the answer from the keyboard: node examples/terminal-inbox.mjs
import { createInterface } from "node:readline";
import { AlreadySettledError, AskdClient, InvalidAnswerError } from "askd";

const askd = new AskdClient({ url: process.env.ASKD_URL, token: process.env.ASKD_TOKEN, surface: "terminal" });
const keyboard = createInterface({ input: process.stdin });
const lines = keyboard[Symbol.asyncIterator]();
let turn = Promise.resolve();

/** @param {import("askd").Question} question */
async function answer(question) {
  const answers = [];
  for (const item of question.questions) {
    console.log(`\n${question.agent} asks: ${item.question}`);
    item.options.forEach((option, i) => console.log(`  ${i + 1}. ${option.label} ${option.description ?? ""}`));
    const { value: line = "", done } = await lines.next();
    if (done) return stop();
    const picked = item.options[Number(line) - 1];
    answers.push(picked ? [picked.value] : line === "" ? [] : [line]);
  }
  try {
    await askd.replyQuestion(question.id, answers);
    console.log("answered");
  } catch (error) {
    if (error instanceof AlreadySettledError) console.log(`${error.by.actor} was faster (${error.by.surface})`);
    else if (error instanceof InvalidAnswerError) console.log(error.errors.map((one) => one.message).join("; "));
    else throw error;
  }
}

// One question at a time, in the order in which they came.
const stop = askd.onQuestion((question) => void (turn = turn.then(() => answer(question))));
