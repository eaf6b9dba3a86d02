// Ask a human and go on with the answer: node examples/ask.mjs
import { AskdClient } from "askd";

const askd = new AskdClient({ url: process.env.ASKD_URL, token: process.env.ASKD_TOKEN });

const result = await askd.ask({
  agent: "release-script",
  context: { cwd: process.cwd(), title: "Release 1.4" },
  questions: [
    {
      question: "All checks are green. Where should this build go?",
      header: "Target",
      options: [{ label: "Staging", value: "staging", description: "testers only" }, "production"],
    },
  ],
});

switch (result.status) {
  case "answered": {
    // A program goes by the values of the picks, and by the person's own words.
    const target = result.answers.flatMap(({ picks, words }) => [...picks, ...words]).join(", ");
    console.log(`deploying to ${target || "nowhere: it was skipped"}`);
    break;
  }
  case "rejected":
    console.log(`not deploying: ${result.reason ?? "declined"}`);
    break;
  case "cancelled":
  case "expired":
    console.log(`nobody decided (${result.status})`);
}
