/**
 * Server-sent events, read from text that arrives in any pieces.
 *
 * In: pieces of the stream, cut anywhere. Out: whole frames (id, event, data). Comments and unfinished frames give nothing.
 */

/** One frame. A frame without data only moves the id on. */
export interface Frame {
  id: string | null;
  event: string;
  data: string | null;
}

export class FrameParser {
  #rest = "";
  #endedInCarriageReturn = false;
  #id: string | null = null;
  #event = "";
  #data: string[] = [];

  /** Takes the next piece and returns the frames that it completes. */
  push(piece: string): Frame[] {
    const frames: Frame[] = [];
    let text = piece;
    if (this.#endedInCarriageReturn && text !== "") {
      this.#endedInCarriageReturn = false;
      if (text.startsWith("\n")) text = text.slice(1);
    }
    // Only the new piece is searched, so that one long line in many pieces costs no more than its length.
    let start = 0;
    for (const end of text.matchAll(/\r\n|\n|\r/g)) {
      const frame = this.#line(this.#rest + text.slice(start, end.index));
      if (frame) frames.push(frame);
      this.#rest = "";
      start = end.index + end[0].length;
      this.#endedInCarriageReturn = end[0] === "\r" && start === text.length;
    }
    this.#rest += text.slice(start);
    return frames;
  }

  #line(line: string): Frame | null {
    if (line === "") return this.#finish();
    const colon = line.indexOf(":");
    if (colon === 0) return null;
    const name = colon < 0 ? line : line.slice(0, colon);
    let value = colon < 0 ? "" : line.slice(colon + 1);
    if (value.startsWith(" ")) value = value.slice(1);
    if (name === "data") this.#data.push(value);
    else if (name === "event") this.#event = value;
    else if (name === "id" && !value.includes("\0")) this.#id = value;
    return null;
  }

  #finish(): Frame | null {
    const { data, id, event } = { data: this.#data, id: this.#id, event: this.#event };
    this.#data = [];
    this.#id = null;
    this.#event = "";
    if (data.length === 0 && id === null) return null;
    return { id, event: event || "message", data: data.length === 0 ? null : data.join("\n") };
  }
}
