/**
 * A port for a hub that is killed and comes back: the system gives it to nobody else in between.
 *
 * Out: its number, and `release()`. A connection goes out from the port for as long as it is wanted: beside that, only who names
 * the port can listen on it.
 */

import { once } from "node:events";
import { connect, createServer, type Server } from "node:net";

/** How often a port is looked for; only one that is taken in the moment between two calls is lost. */
const TRIES = 20;

export interface ReservedPort {
  port: number;
  release: () => void;
}

async function listening(server: Server): Promise<number> {
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("not listening");
  return address.port;
}

export async function reservePort(): Promise<ReservedPort> {
  const far = createServer().unref();
  const to = await listening(far);
  for (let i = 0; i < TRIES; i += 1) {
    const probe = createServer();
    const port = await listening(probe);
    await once(probe.close(), "close");
    const near = connect({ host: "127.0.0.1", port: to, localAddress: "127.0.0.1", localPort: port });
    try {
      await once(near, "connect");
    } catch {
      continue;
    }
    near.unref();
    const release = () => {
      near.destroy();
      far.close();
    };
    return { port, release };
  }
  far.close();
  throw new Error("no port can be kept");
}
