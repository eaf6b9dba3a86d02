/** The parser of server-sent events, fed in random pieces. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { type Frame, FrameParser } from "../dist/sse.js";
import { seeded } from "./support/tools.js";

function parse(pieces: string[]): Frame[] {
  const parser = new FrameParser();
  return pieces.flatMap((piece) => parser.push(piece));
}

function pieces(text: string, random: () => number): string[] {
  const cut: string[] = [];
  for (let at = 0; at < text.length; ) {
    const end = at + Math.floor(random() * random() * 12);
    cut.push(text.slice(at, end));
    at = end;
  }
  return cut;
}

const STREAM = [
  ": connected\n\n",
  'id: 1\nevent: question.requested\ndata: {"a":1}\n\n',
  "id: 2\r\nevent: x\r\ndata: with carriage returns\r\n\r\n",
  "id: 3\rdata: old mac\r\r",
  ": still here\n\n",
  "data:no space\ndata:\ndata:  two spaces\n\n",
  "id: 4\n\n",
  "event: nothing\n\n",
  "unknown: field\nretry: 10\ndata: last ü 😀 \u2028 line\nid: 5\n\n",
  "id: 6\0\ndata: an id with a null is no id\n\n",
  "id: 7\ndata: never finished\n",
].join("");

const FRAMES: Frame[] = [
  { id: "1", event: "question.requested", data: '{"a":1}' },
  { id: "2", event: "x", data: "with carriage returns" },
  { id: "3", event: "message", data: "old mac" },
  { id: null, event: "message", data: "no space\n\n two spaces" },
  { id: "4", event: "message", data: null },
  { id: "5", event: "message", data: "last ü 😀 \u2028 line" },
  { id: null, event: "message", data: "an id with a null is no id" },
];

test("frames_are_the_same_however_the_stream_is_cut", () => {
  assert.deepEqual(parse([STREAM]), FRAMES);
  assert.deepEqual(parse([...STREAM]), FRAMES);
  for (let seed = 0; seed < 500; seed += 1)
    assert.deepEqual(parse(pieces(STREAM, seeded(seed))), FRAMES, `seed ${seed}`);
});

test("one_long_line_in_many_pieces_costs_no_more_than_its_length", () => {
  const started = process.cpuUsage();
  const parser = new FrameParser();
  parser.push("data: ");
  for (let i = 0; i < 20_000; i += 1) assert.deepEqual(parser.push("x".repeat(50)), []);
  assert.equal(parser.push("\n\n")[0]?.data?.length, 1_000_000);
  // Of the processor, not of the clock: what else the machine does is not counted.
  assert.ok(process.cpuUsage(started).user < 5_000_000);
});

test("hostile_bytes_never_throw", () => {
  const random = seeded(7);
  const alphabet = ["\n", "\r", ":", " ", "data", "id", "event", "\0", "{", "}", "é"];
  for (let round = 0; round < 300; round += 1) {
    const text = Array.from({ length: 200 }, () => alphabet[Math.floor(random() * alphabet.length)]).join("");
    assert.deepEqual(parse(pieces(text, random)), parse([text]));
  }
});
