/** Server-sent events from a body that is read by fetch, because EventSource cannot send a bearer token. */

export interface Frame {
  id: string | null;
  event: string;
  data: string;
}

/** Cuts text that arrives in arbitrary pieces into frames. Comments become frames of the event `comment`. */
export class FrameParser {
  #rest = "";
  #id: string | null = null;
  #event = "";
  #data: string[] = [];

  push(text: string): Frame[] {
    const frames: Frame[] = [];
    const lines = (this.#rest + text).split(/\r\n|\n/);
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line === "") {
        if (this.#data.length > 0) {
          frames.push({ id: this.#id, event: this.#event || "message", data: this.#data.join("\n") });
        }
        this.#id = null;
        this.#event = "";
        this.#data = [];
      } else if (line.startsWith(":")) {
        frames.push({ id: null, event: "comment", data: line.slice(1).trim() });
      } else {
        this.#field(line);
      }
    }
    return frames;
  }

  #field(line: string): void {
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "id") this.#id = value;
    else if (name === "event") this.#event = value;
    else if (name === "data") this.#data.push(value);
  }
}

export async function* frames(body: ReadableStream<Uint8Array>): AsyncGenerator<Frame> {
  const parser = new FrameParser();
  const decoder = new TextDecoder();
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield* parser.push(decoder.decode(value, { stream: true }));
    }
  } finally {
    // A reader that stops early must close the connection, or the hub keeps a stream for nobody.
    await reader.cancel().catch(() => undefined);
  }
}
