// How many questions wait, live, as a page's title would show it: node examples/watch.mjs
import { AskdClient } from "askd";

const askd = new AskdClient({ url: process.env.ASKD_URL, token: process.env.ASKD_TOKEN });

const stop = askd.watchOpen((state, events) => {
  for (const event of events) {
    if (event.type !== "question.resolved") continue;
    const { status, by } = event.question.outcome ?? {};
    console.log(`${event.question.id} was ${status} by ${by?.actor ?? "askd"} (${by?.surface})`);
  }
  console.log(`(${state.questions.size}) ${state.connection}`);
  if (state.connection === "stopped") console.error(String(state.error));
});

process.once("SIGINT", stop);
process.once("SIGTERM", stop);
