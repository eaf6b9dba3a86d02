/**
 * A real hub for a test: its own process, data folder and port.
 *
 * In: the binary (`ASKD_BIN`, else the workspace's debug build). Out: its address and tokens, and the power to kill and restart it.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

import { AskdClient, type AskdClientOptions, type Right } from "askd";

import { type ReservedPort, reservePort } from "./port.js";

const BINARY = resolve(process.env.ASKD_BIN ?? "../../target/debug/askd");
/** A debug build starts in well under a second, on a machine that is not busy. */
const START_PATIENCE_MS = 60_000;

/** Whatever still runs when this process ends goes with it. */
const running = new Set<ChildProcess>();
process.on("exit", () => running.forEach((child) => child.kill("SIGKILL")));
process.once("SIGTERM", () => process.exit(1));

export class Hub {
  readonly folder: string;
  readonly #port: ReservedPort;
  readonly #more: string[];
  #child: ChildProcess;
  #url: string;

  private constructor(folder: string, port: ReservedPort, more: string[], child: ChildProcess, url: string) {
    this.folder = folder;
    this.#port = port;
    this.#more = more;
    this.#child = child;
    this.#url = url;
  }

  static async start(...more: string[]): Promise<Hub> {
    if (!existsSync(BINARY)) throw new Error(`there is no hub at ${BINARY}: cargo build -p askd, or set ASKD_BIN`);
    const folder = mkdtempSync(join(tmpdir(), "askd-sdk-"));
    const port = await reservePort();
    return new Hub(folder, port, more, ...(await run(folder, port.port, more)));
  }

  get url(): string {
    return this.#url;
  }

  get port(): number {
    return this.#port.port;
  }

  get token(): string {
    return readFileSync(join(this.folder, "token"), "utf8").trim();
  }

  /** A client with every right, or with other options. */
  client(options: AskdClientOptions = {}): AskdClient {
    return new AskdClient({ url: this.url, token: this.token, ...options });
  }

  /** A client with a token of its own. */
  async clientWith(name: string, rights: Right[], options: AskdClientOptions = {}): Promise<AskdClient> {
    const { token } = await this.client().tokens.create({ name, rights });
    return this.client({ token, ...options });
  }

  /** As if the power went. */
  async killHard(): Promise<void> {
    await end(this.#child, "SIGKILL");
  }

  /** On the same port and data as before. */
  async restart(): Promise<void> {
    [this.#child, this.#url] = await run(this.folder, this.port, this.#more);
  }

  async stopPolitely(): Promise<void> {
    await end(this.#child, "SIGTERM");
  }

  /** The end of the test: nothing is left. */
  async remove(): Promise<void> {
    await this.killHard();
    this.#port.release();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 20 });
  }
}

async function run(folder: string, port: number, more: string[]): Promise<[ChildProcess, string]> {
  const args = ["up", "--listen", `127.0.0.1:${port}`, "--data", folder, "--no-discovery", ...more];
  const child = spawn(BINARY, args, { stdio: ["ignore", "pipe", "pipe"] });
  running.add(child);
  child.once("exit", () => running.delete(child));
  let errors = "";
  child.stderr?.on("data", (piece: Buffer) => (errors += piece.toString()));
  if (!child.stdout) throw new Error("the hub has no output");
  const lines = createInterface(child.stdout);
  const url = await new Promise<string>((resolveUrl, reject) => {
    const timer = setTimeout(() => reject(new Error(`the hub does not start: ${errors}`)), START_PATIENCE_MS);
    lines.on("line", (line) => {
      const address = /https?:\/\/[^\s/]+/.exec(line)?.[0];
      if (address === undefined) return;
      clearTimeout(timer);
      resolveUrl(address);
    });
    child.once("exit", (code) => {
      clearTimeout(timer);
      reject(new Error(`the hub ended with ${code}: ${errors}`));
    });
  });
  return [child, url];
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolveGone) => child.once("exit", resolveGone));
  child.kill(signal);
  await gone;
}
