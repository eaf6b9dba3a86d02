// A real hub of its own for each test: the binary under ASKD_BIN, on a port that is kept for it, with a throw-away data folder.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** What was given for each item: values of picks, then own words. */
export const texts = (answers) => answers.map(({ picks, words }) => [...picks, ...words]);

const BUILT = fileURLToPath(new URL("../../../target/debug/askd", import.meta.url));
export const BINARY = process.env.ASKD_BIN ?? BUILT;
/** A debug binary on a busy machine; a healthy one needs a tenth of it. */
const START_MS = 60_000;
/** How often a port is looked for; only one that is taken in the moment between two calls is lost. */
const PORT_TRIES = 20;

async function listening(server) {
  await once(server.listen(0, "127.0.0.1"), "listening");
  return server.address().port;
}

/**
 * A port that the system gives to nobody else while a hub is down. A connection goes out from it for as long as it is wanted: beside
 * that, only who names the port can listen on it.
 */
async function reservePort() {
  const far = createServer();
  const to = await listening(far);
  for (let i = 0; i < PORT_TRIES; i += 1) {
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
    far.unref();
    const release = () => {
      near.destroy();
      far.close();
    };
    return { port, release };
  }
  far.close();
  throw new Error("no port can be kept");
}

export class TestHub {
  static async start({ args = [] } = {}) {
    if (!existsSync(BINARY)) throw new Error(`no askd binary at ${BINARY}: run cargo build, or set ASKD_BIN`);
    const hub = new TestHub();
    hub.data = await mkdtemp(join(tmpdir(), "askd-web-"));
    hub.port = await reservePort();
    hub.url = `http://127.0.0.1:${hub.port.port}`;
    hub.args = args;
    await hub.run();
    return hub;
  }

  /** Starts the process; again after `kill`, on the same port and data. */
  async run() {
    const args = ["up", "--listen", `127.0.0.1:${this.port.port}`, "--data", this.data, "--no-discovery", ...this.args];
    this.process = spawn(BINARY, args, { stdio: ["ignore", "pipe", "pipe"] });
    this.output = "";
    for (const stream of [this.process.stdout, this.process.stderr])
      stream.on("data", (bytes) => (this.output += bytes));
    const end = Date.now() + START_MS;
    while (!(await fetch(`${this.url}/v1/health`).catch(() => undefined))?.ok) {
      if (this.process.exitCode !== null) throw new Error(`the hub ended: ${this.output}`);
      if (Date.now() > end) throw new Error(`the hub does not start: ${this.output}`);
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
    this.token = (await readFile(join(this.data, "token"), "utf8")).trim();
  }

  async kill(signal = "SIGKILL") {
    const { process: child } = this;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill(signal);
    await gone;
  }

  async stop() {
    await this.endAgents();
    await this.kill("SIGTERM");
    this.port.release();
    await rm(this.data, { recursive: true, force: true, maxRetries: 20 });
  }

  /** Agents and their holders outlive a hub on purpose; those of a test must not outlive the test. */
  async endAgents() {
    const { sessions } = await this.call("GET", "/v1/sessions?live=true").catch(() => ({ sessions: [] }));
    for (const { id } of sessions) await this.call("DELETE", `/v1/sessions/${id}`).catch(() => undefined);
    let held = [];
    for (let i = 0; i < 60; i += 1) {
      ({ holders: held } = await this.call("GET", "/v1/holders").catch(() => ({ holders: [] })));
      held = held.filter(({ alive }) => alive);
      if (held.length === 0) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    for (const pid of held.flatMap(({ agentPid, holderPid }) => [agentPid, holderPid])) {
      try {
        if (pid) process.kill(pid, "SIGKILL");
      } catch {
        // It has ended by itself in the meantime.
      }
    }
  }

  async call(method, path, body, token = this.token) {
    const headers = { authorization: `Bearer ${token}` };
    if (body !== undefined) headers["content-type"] = "application/json";
    const response = await fetch(this.url + path, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === "" ? null : JSON.parse(text);
  }

  ask(input) {
    return this.call("POST", "/v1/questions", input);
  }

  reply(id, answers) {
    return this.call("POST", `/v1/questions/${id}/reply`, { answers });
  }

  question(id) {
    return this.call("GET", `/v1/questions/${id}`);
  }

  async loginLink() {
    return (await this.call("POST", "/v1/login-codes")).url;
  }
}
