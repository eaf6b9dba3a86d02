// A chat client sees a tool call, not a question: answer it by the call's id: node examples/chat-call.mjs toolu_1 "Blue"
import { AskdClient } from "askd";

const askd = new AskdClient({ url: process.env.ASKD_URL, token: process.env.ASKD_TOKEN });
const [callId = "", ...picks] = process.argv.slice(2);

// The call may be seen a moment before its question is stored: wait up to ten seconds for it.
const question = await askd.replyByCall(callId, [picks], { wait: 10 });
console.log(`answered ${question.id}, waiting for the agent`);
