// askd's plugin for OpenCode by itself, in Node, with a hub that is played: order and size of what it says, calls in pieces, a hub that
// goes away, and that nothing it is given makes it fail. With the real OpenCode it is played by live_opencode_tui.
import assert from "node:assert/strict"
import { chmodSync, lchownSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"

const LIMIT = 60_000
const source = join(import.meta.dirname, "../../crates/agents/src/opencode/plugin.js")
const folder = mkdtempSync(join(tmpdir(), "askd-plugin-"))
const pluginFor = async (data) => {
  const module = join(data, "plugin.mjs")
  writeFileSync(module, readFileSync(source, "utf8").replace('"@DATA@"', JSON.stringify(data)))
  return (await import(module)).Askd
}
const Askd = await pluginFor(folder)
const servers = []

after(() => {
  for (const server of servers) {
    server.close()
    server.closeAllConnections()
  }
  rmSync(folder, { recursive: true, force: true })
})

const until = async (what, look) => {
  for (const end = Date.now() + LIMIT; Date.now() < end; await new Promise((done) => setTimeout(done, 20))) {
    if (look()) return
  }
  assert.fail(`did not see ${what}`)
}

// A hub that takes everything and remembers it.
async function playedHub(at = folder, short = join(at, "hub.sock")) {
  const hub = { hellos: [], said: [], sizes: [], farewells: [], calls: undefined }
  const server = createServer(async (request, response) => {
    let body = ""
    for await (const chunk of request) body += chunk
    assert.equal(request.headers.authorization, "Bearer may-only-ask")
    if (request.method === "DELETE") {
      hub.farewells.push(request.url)
    } else if (request.url === "/v1/plugins/opencode") {
      hub.hellos.push(JSON.parse(body))
      response.writeHead(200, { "content-type": "text/event-stream" }).write(": connected\n\n")
      hub.calls = response
      return
    } else {
      hub.sizes.push(Buffer.byteLength(body))
      hub.said.push(...JSON.parse(body).messages)
    }
    response.writeHead(204).end()
  })
  servers.push(server)
  // As the real hub does: what a killed one has left is replaced.
  rmSync(join(at, "hub.sock"), { force: true })
  await new Promise((done) => server.listen(short, done))
  chmodSync(short, 0o600)
  hub.server = server
  writeFileSync(join(at, "ask-token"), "may-only-ask\n", { mode: 0o600 })
  return hub
}

const long = "日".repeat(2 << 20)
const client = {
  _client: {
    request: async ({ url, method, query, body }) => {
      if (url === "/throws") throw new Error("boom")
      if (url === "/missing") return { error: { _tag: "NotFound" }, response: { ok: false, status: 404 } }
      const data = url === "/long" ? long : JSON.stringify({ method, query, body })
      return { data, response: { ok: true, status: 200 } }
    },
  },
}
const event = (type, properties) => ({ event: { type, properties } })

test("events in their order, calls and their replies, a farewell of the last", async () => {
  const hub = await playedHub()
  // OpenCode loads a plugin twice if it has a port; the two are one to the hub.
  const [first, second] = [await Askd({ client, directory: "/w" }), await Askd({ client, directory: "/w" })]
  await second.event(event("session.idle", { sessionID: "s" }))
  await until("the greeting", () => hub.calls)
  assert.deepEqual(
    hub.hellos.map(({ pid, directory }) => ({ pid, directory })),
    [{ pid: process.pid, directory: "/w" }],
  )

  hub.calls.write('data: {"call":0,"method":"GET","path":"/a","query":[]}\n\n')
  await until("that the plugin knows that it is connected", () => hub.said.length === 1)
  hub.said.length = 0
  for (let n = 0; n < 3000; n++) await first.event(event("message.part.delta", { n, pad: "x".repeat(500) }))
  const tool = {
    id: "p",
    type: "tool",
    tool: "bash",
    callID: "c",
    state: { status: "running", input: "secret", metadata: { output: "secret" } },
  }
  await first.event(event("message.part.updated", { part: tool }))
  // What is not understood, not needed or too long is passed over.
  for (const odd of [
    {},
    { event: null },
    event("message.part.updated", {}),
    event("file.edited", {}),
    event("session.updated", { long }),
  ]) {
    await first.event(odd)
  }
  await until("all events", () => hub.said.length >= 3001)
  const heard = hub.said.map(({ event }) => JSON.parse(event))
  assert.deepEqual(
    heard.slice(0, 3000).map(({ payload }) => payload.properties.n),
    [...Array(3000).keys()],
  )
  assert.equal(heard[0].directory, "/w")
  assert.equal(heard.length, 3001)
  assert.equal(JSON.stringify(heard[3000]).includes("secret"), false, "what a tool read or wrote stays here")
  assert.ok(Math.max(...hub.sizes) < 4 << 20)

  hub.said.length = 0
  hub.calls.write('data: {"call":1,"method":"POST","path":"/a","query":[["directory","/w"]],"bo')
  hub.calls.write('dy":"{\\"x\\":1}"}\n\ndata: {"call":2,"method":"GET","path":"/throws","query":[]}\n\n')
  hub.calls.write('data: {"call":3,"method":"GET","path":"/missing","query":[]}\n\n: still here\n\n')
  hub.calls.write('data: {"call":4,"method":"GET","path":"/long","query":[]}\n\n')
  await until("four replies", () => hub.said.length === 4)
  const replies = Object.fromEntries(hub.said.map(({ reply }) => [reply.call, [reply.status, reply.body]]))
  assert.deepEqual(replies, {
    1: [200, '{"method":"POST","query":{"directory":"/w"},"body":{"x":1}}'],
    2: [0, "Error: boom"],
    3: [404, '{"_tag":"NotFound"}'],
    4: [0, "the answer is too long"],
  })

  await first.dispose()
  assert.deepEqual(hub.farewells, [])
  await second.dispose()
  assert.deepEqual(hub.farewells, [`/v1/plugins/opencode/${hub.hellos[0].link}`])
})

test("a hub that goes away is looked for, and found where it is then, by the same name", async () => {
  const old = await playedHub()
  const plugin = await Askd({ client, directory: "/w" })
  await plugin.event(event("session.idle", { sessionID: "s" }))
  await until("the first greeting", () => old.hellos.length === 1)
  old.server.close()
  old.server.closeAllConnections()
  await plugin.event(event("session.idle", { sessionID: "s" }))
  const hub = await playedHub()
  await until("the second greeting", () => hub.hellos.length === 1)
  assert.deepEqual(hub.hellos, old.hellos)
  hub.calls.write("data: no JSON\n\n")
  await until("a new connection after nonsense", () => hub.hellos.length === 2)
  await plugin.dispose()
})

test("a path that is too long for a socket's address is reached all the same", {
  skip: process.platform !== "linux",
}, async () => {
  const deep = join(folder, "d".repeat(120))
  mkdirSync(deep, { mode: 0o700 })
  // The played hub listens where a path is short, and is moved.
  const hub = await playedHub(deep, join(folder, "short.sock"))
  renameSync(join(folder, "short.sock"), join(deep, "hub.sock"))
  const plugin = await (await pluginFor(deep))({ client, directory: "/deep" })
  await plugin.event(event("session.idle", { sessionID: "s" }))
  await until("the greeting", () => hub.hellos.length === 1)
  await plugin.dispose()
  assert.equal(hub.farewells.length, 1)
})

test("no token goes to a port, nor into a folder that others can use", async () => {
  const seen = []
  const thief = createServer((request, response) => {
    seen.push(request.headers.authorization)
    response.end()
  })
  servers.push(thief)
  await new Promise((done) => thief.listen(0, "127.0.0.1", done))
  const url = `http://127.0.0.1:${thief.address().port}`
  // Each is tried as long as the plugin needs for two attempts, and would be reached in one.
  const tries = async (name, prepare) => {
    const data = join(folder, name)
    mkdirSync(data, { mode: 0o700 })
    const hub = await playedHub(data)
    writeFileSync(join(data, "hub.json"), JSON.stringify({ url, pid: process.pid, version: "0" }))
    const mend = prepare(data, hub)
    const plugin = await (await pluginFor(data))({ client, directory: `/${name}` })
    await plugin.event(event("session.idle", { sessionID: "s" }))
    await new Promise((done) => setTimeout(done, 300))
    assert.deepEqual([seen, hub.hellos], [[], []], name)
    // And it was the folder that kept it away.
    mend()
    await until(`the greeting after ${name}`, () => hub.hellos.length === 1)
    await plugin.dispose()
    assert.deepEqual(seen, [], name)
  }
  const mode = (wrong, right, of) => (data) => {
    chmodSync(of(data), wrong)
    return () => chmodSync(of(data), right)
  }
  await tries(
    "open-folder",
    mode(0o777, 0o700, (data) => data),
  )
  await tries(
    "readable-folder",
    mode(0o750, 0o700, (data) => data),
  )
  await tries(
    "open-socket",
    mode(0o666, 0o600, (data) => join(data, "hub.sock")),
  )
  await tries(
    "open-token",
    mode(0o644, 0o600, (data) => join(data, "ask-token")),
  )
  await tries("gone", (data) => {
    renameSync(join(data, "hub.sock"), join(data, "away"))
    return () => renameSync(join(data, "away"), join(data, "hub.sock"))
  })
  if (process.geteuid() === 0) {
    for (const [name, of] of [
      ["folder-of-another", (data) => data],
      ["socket-of-another", (data) => join(data, "hub.sock")],
    ]) {
      await tries(name, (data) => {
        lchownSync(of(data), 65534, 65534)
        return () => lchownSync(of(data), 0, 0)
      })
    }
  }
})

test("silent in askd's own sessions, and where OpenCode cannot be spoken to", async () => {
  process.env.ASKD_SESSION = "ses_x"
  assert.deepEqual(await Askd({ client, directory: "/w" }), {})
  delete process.env.ASKD_SESSION
  assert.deepEqual(await Askd({ client: {}, directory: "/w" }), {})
  assert.deepEqual(await Askd({ client: undefined, directory: "/w" }), {})
})
