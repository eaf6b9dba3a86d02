/** The public face of the package. */

export { AskdClient, type AskdClientOptions } from "./client.js";
export { resultOf } from "./ask.js";
export type { Answered, AskOptions, AskResult, Cancelled, Expired, Rejected, StillOpen } from "./ask.js";
export * from "./errors.js";
export type { OnQuestionOptions, QuestionHandler, QuestionReaction, QuestionTurn } from "./on-question.js";
export type {
  CallOptions,
  FindByCallOptions,
  QuestionListing,
  Questions,
  RejectOptions,
  ReplyOptions,
  WriteOptions,
} from "./questions.js";
export type { EventOptions } from "./events.js";
export type { Agents, Sessions, Sources, Tokens } from "./resources.js";
export type { Connection, FollowOptions } from "./stream.js";
export type { TranscriptOptions } from "./transcript.js";
export { answerTexts } from "./types.js";
export type * from "./types.js";
export type { OpenListener, OpenState, WatchOptions } from "./watch.js";
export type { QuestionState, QuestionWatch, Which } from "./watch-question.js";
