/**
 * A bad line between client and hub: forwards bytes until it is told to cut.
 *
 * In: the hub's port. Out: an address; `cut()` breaks every connection at once, in the middle of whatever is on its way.
 */

import { connect, createServer, type Server, type Socket } from "node:net";

export class BadLine {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server) {
    this.#server = server;
  }

  static async to(port: number): Promise<BadLine> {
    const server = createServer();
    const line = new BadLine(server);
    server.on("connection", (near) => {
      const far = connect(port, "127.0.0.1");
      for (const [from, into] of [
        [near, far],
        [far, near],
      ] as const) {
        line.#sockets.add(from);
        from.on("error", () => undefined);
        from.on("close", () => {
          line.#sockets.delete(from);
          into.destroy();
        });
        from.pipe(into);
      }
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return line;
  }

  get url(): string {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("not listening");
    return `http://127.0.0.1:${address.port}`;
  }

  /** How many connections were broken. */
  cut(): number {
    const count = this.#sockets.size / 2;
    for (const socket of this.#sockets) socket.destroy();
    return count;
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
