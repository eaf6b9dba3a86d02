// What a chat client does: it sees a tool call, gives its id to the element, and goes on when the question is settled.
// The address carries hub, token and call: /examples/widget/#hub=...&token=...&call=...
import "/dist/widget.js";

const given = new URLSearchParams(location.hash.slice(1));
const widget = document.querySelector("askd-question");
const heard = document.querySelector("#heard");

widget.addEventListener("askd-asked", () => (document.querySelector("#said").textContent = "The agent asks:"));
widget.addEventListener("askd-settled", (event) => {
  const { status, outcome } = event.detail.question;
  heard.textContent = `The chat goes on: ${status} ${JSON.stringify(outcome.answers)}`;
});
widget.setAttribute("hub", given.get("hub") ?? "http://127.0.0.1:2753");
widget.setAttribute("token", given.get("token") ?? "");
if (given.has("question")) widget.setAttribute("question-id", given.get("question"));
else widget.setAttribute("call-id", given.get("call") ?? "");
