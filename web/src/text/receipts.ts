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
    const ready: Receipt = { state: "done", title: "Ready", detail: "the program that asked reads it from the hub" };
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
      return [accepted, { state: "bad", title: "Not delivered", detail: failure(question, name) }];
  }
}

function failure({ delivery }: Question, name: string): string {
  const detail = delivery?.error?.detail ? ` (${clean(delivery.error.detail)})` : "";
  switch (delivery?.error?.reason) {
    case "overtaken":
      return `${name} had taken another answer before this one came${detail}`;
    case "unknown":
      return `whether ${name} got it cannot be known, and askd will not risk a second answer${detail}`;
    case "unconfirmed":
      return `it was written, but ${name} was gone before it showed that it went on${detail}`;
    case "agentGone":
      return `${name} was gone before it could be written${detail}`;
    case "sentAsMessage":
      return `the call that asked was gone; it was said as a message instead${detail}`;
    default:
      return `${name} refused it${detail}`;
  }
}
