/** Accepted, sent, confirmed: three different facts, each said when it is true and not before. */

import type { Question } from "../api.ts";
import { clean } from "./clean.ts";
import { agentName } from "./names.ts";
import { moment } from "./time.ts";

export interface Receipt {
  state: "done" | "waiting" | "bad";
  title: string;
  detail: string;
}

/** What is known about the way of an outcome to its agent, in the order in which it became true. */
export function receipts(question: Question): Receipt[] {
  const { outcome, delivery, agent } = question;
  if (!outcome) return [];
  const name = agentName(agent);
  if (outcome.by.surface === "agent") {
    return [{ state: "done", title: "Heard", detail: `given in ${name}'s own screen, noted at ${moment(outcome.at)}` }];
  }
  const accepted: Receipt = { state: "done", title: "Accepted", detail: `stored by the hub at ${moment(outcome.at)}` };
  if (!delivery) {
    const ready: Receipt = {
      state: "done",
      title: "Ready to read",
      detail: "the program that asked fetches the answer from the hub",
    };
    return question.sessionId == null ? [accepted, ready] : [accepted];
  }
  const at = moment(delivery.at);
  switch (delivery.state) {
    case "queued": {
      const why = delivery.error?.detail ? `; last try: ${clean(delivery.error.detail)}` : "";
      return [accepted, { state: "waiting", title: "Not sent yet", detail: `waiting to be written to ${name}${why}` }];
    }
    case "sent":
      return [
        accepted,
        { state: "done", title: "Sent", detail: `written to ${name} at ${at}` },
        { state: "waiting", title: "Not confirmed yet", detail: `${name} has not shown that it went on` },
      ];
    case "confirmed":
      return [
        accepted,
        { state: "done", title: "Sent", detail: `written to ${name}` },
        { state: "done", title: "Confirmed", detail: `${name} went on with it at ${at}` },
      ];
    case "failed":
      return [accepted, { state: "bad", title: failedTitle(question), detail: failure(question, name) }];
  }
}

/** How a delivery failed, in two or three words: an answer that was written is not called undelivered. */
export function failedTitle({ delivery }: Question): string {
  switch (delivery?.error?.reason) {
    case "unconfirmed":
      return "Sent, not confirmed";
    case "unknown":
      return "Delivery unknown";
    case "sentAsMessage":
      return "Sent as a message";
    default:
      return "Not delivered";
  }
}

function failure({ delivery }: Question, name: string): string {
  const detail = delivery?.error?.detail ? ` (${clean(delivery.error.detail)})` : "";
  switch (delivery?.error?.reason) {
    case "overtaken":
      return `${name} took another answer before this one arrived${detail}`;
    case "unknown":
      return `askd cannot know whether ${name} received it, and does not risk to send it twice${detail}`;
    case "unconfirmed":
      return `it was written to ${name}, which ended before it showed that it had read it${detail}`;
    case "agentGone":
      return `${name} ended before the answer could be written${detail}`;
    case "sentAsMessage":
      return `the call that asked had ended; the answer was sent as a message instead${detail}`;
    default:
      return `${name} refused it${detail}`;
  }
}
