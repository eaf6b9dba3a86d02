// askd in OpenCode: put here by `askd install opencode`, taken away by `askd uninstall opencode`.
//
// In: what happens in this OpenCode. Out: its questions and permissions in askd's inbox, and the answers that are given there.
// It must never be in the way: OpenCode waits for nothing in here, what goes wrong stays in here, and without a hub it does nothing.

import { randomUUID } from "node:crypto"
import { closeSync, lstatSync, openSync, readFileSync, statSync } from "node:fs"
import { connect } from "node:net"

// The data folder of the hub.
const DATA = "@DATA@"
// Bytes of a path that fit into a socket's address, on every system.
const LONGEST_PATH = 103
// Milliseconds between attempts to reach a hub that is not there: a hub that comes back is found within the last.
const FIRST_PAUSE = 200
const LAST_PAUSE = 5_000
// The hub says every 10 s that it is there; after this long without a word it is not.
const QUIET = 35_000
// How long one request to the hub may take, and how long OpenCode may be kept from ending.
const REQUEST = 10_000
const FAREWELL = 1_000
// Bytes after which a request is full, of one message (both together stay below the 4 MiB that the hub takes), and of all that may
// wait: past that the connection is made anew, and everything is listed.
const BATCH = 1 << 19
const LONGEST = 3 << 20
const WAITING = 16 << 20

// What the hub has to know. Everything else stays here.
const TOLD = new Set([
  "question.asked",
  "question.replied",
  "question.rejected",
  "permission.asked",
  "permission.replied",
  "message.updated",
  "message.part.updated",
  "message.part.delta",
  "session.created",
  "session.updated",
  "session.deleted",
  "session.idle",
  "session.error",
  "server.instance.disposed",
])

// The event as far as the hub needs it: of a tool its state, not what it read or wrote.
function told(event) {
  if (!TOLD.has(event?.type)) return undefined
  if (event.type !== "message.part.updated") return event
  const part = event.properties.part
  if (part.type === "text") return event
  if (part.type !== "tool") return undefined
  const { id, type, sessionID, messageID, callID, tool } = part
  const { status, error, metadata } = part.state
  const state = { status, error, metadata: { answers: metadata?.answers } }
  return { ...event, properties: { part: { id, type, sessionID, messageID, callID, tool, state } } }
}

// Throws unless only this user can reach it.
function mustBeOwn(stat, what) {
  if (stat.uid !== process.geteuid() || (stat.mode & 0o077) !== 0) throw new Error(`${what} is not this user's own`)
}

// The hub's socket, with the token that may only ask. The token is shown to nothing else: any program can
// listen on a port, but only this user can put a socket into a folder that only this user can use.
function findHub() {
  mustBeOwn(statSync(DATA), "the data folder")
  const link = lstatSync(DATA)
  if (link.isSymbolicLink() && link.uid !== process.geteuid())
    throw new Error("the link to the data folder is not this user's own")
  const socket = lstatSync(`${DATA}/hub.sock`)
  if (!socket.isSocket()) throw new Error("no socket")
  mustBeOwn(socket, "the socket")
  mustBeOwn(statSync(`${DATA}/ask-token`), "the token")
  return { token: readFileSync(`${DATA}/ask-token`, "utf8").trim() }
}

// A connection to the hub. Where the path is too long for a socket's address, a handle on the folder gives it
// a short name.
function dial() {
  const path = `${DATA}/hub.sock`
  if (Buffer.byteLength(path) <= LONGEST_PATH) return connect({ path })
  const folder = openSync(DATA, "r")
  const socket = connect({ path: `/proc/self/fd/${folder}/hub.sock` })
  socket.on("close", () => closeSync(folder))
  return socket
}

// One request, and its status when it is over. It is written by hand, because Bun's fetch would end it after
// 300 s. In HTTP/1.0 the body is what comes until the connection ends; `read` is given it as it grows, and
// gives back what is to wait for more.
function request({ token }, method, path, body, signal, read = () => "") {
  return new Promise((done, failed) => {
    const socket = dial()
    const head = [
      `${method} /v1/plugins/opencode${path} HTTP/1.0`,
      "host: localhost",
      `authorization: Bearer ${token}`,
      "content-type: application/json",
      `content-length: ${Buffer.byteLength(body)}`,
    ]
    const decoder = new TextDecoder()
    let [status, text] = [undefined, ""]
    signal.addEventListener("abort", () => socket.destroy())
    socket.on("connect", () => socket.write(`${head.join("\r\n")}\r\n\r\n${body}`))
    socket.on("data", (bytes) => {
      text += decoder.decode(bytes, { stream: true })
      const end = text.indexOf("\r\n\r\n")
      if (status === undefined && end >= 0) {
        status = Number(text.split(" ", 2)[1])
        text = text.slice(end + 4)
      }
      try {
        if (status === 200) text = read(text)
      } catch (error) {
        socket.destroy(error)
      }
    })
    socket.on("error", failed)
    socket.on("close", () => (status === undefined ? failed(new Error("no answer")) : done(status)))
  })
}

// One connection to the hub.
class Line {
  stop = new AbortController()
  waiting = []
  bytes = 0
  sending = false
  reached = false

  constructor(link) {
    this.link = link
    this.hub = findHub()
  }

  // Lives as long as the connection. Whatever was missed before it, the hub asks for at its beginning.
  async live() {
    let quiet
    const alive = () => {
      clearTimeout(quiet)
      quiet = setTimeout(() => this.stop.abort(), QUIET)
    }
    const read = (text) => {
      alive()
      this.reached = true
      this.link.line = this
      const frames = text.split("\n\n")
      const rest = frames.pop()
      for (const frame of frames) if (frame.startsWith("data: ")) void this.make(JSON.parse(frame.slice(6)))
      return rest
    }
    try {
      alive()
      const hello = JSON.stringify({ link: this.link.id, pid: process.pid, directory: this.link.directory })
      await request(this.hub, "POST", "", hello, this.stop.signal, read)
    } finally {
      clearTimeout(quiet)
      this.link.line = undefined
      this.stop.abort()
    }
  }

  // Makes one call of OpenCode's own server, which has no port but this client.
  async make({ call, method, path, query, body }) {
    let [status, text] = [0, ""]
    try {
      const content =
        body === undefined ? {} : { body: JSON.parse(body), headers: { "Content-Type": "application/json" } }
      const options = { method, url: path, query: Object.fromEntries(query), parseAs: "text", ...content }
      const { data, error, response } = await this.link.api.request(options)
      text = response?.ok ? data : JSON.stringify(error)
      status = response?.status ?? 0
    } catch (error) {
      text = String(error)
    }
    const said = this.say({ reply: { call, status, body: String(text) } })
    if (!said) this.say({ reply: { call, status: 0, body: "the answer is too long" } })
  }

  // Whether it could be said: not what is too long for the hub.
  say(what) {
    const message = JSON.stringify(what)
    const size = Buffer.byteLength(message)
    if (size > LONGEST) return false
    this.waiting.push({ message, size })
    this.bytes += size
    if (this.bytes > WAITING) this.stop.abort()
    else if (!this.sending) void this.send()
    return true
  }

  // One request at a time, so that the order is kept.
  async send() {
    this.sending = true
    try {
      while (this.waiting.length > 0 && !this.stop.signal.aborted) {
        const batch = []
        for (let bytes = 0; this.waiting.length > 0 && bytes < BATCH; ) {
          const { message, size } = this.waiting.shift()
          batch.push(message)
          bytes += size
          this.bytes -= size
        }
        const body = `{"messages":[${batch.join(",")}]}`
        const status = await request(this.hub, "POST", `/${this.link.id}`, body, AbortSignal.timeout(REQUEST))
        if (status !== 204) this.stop.abort()
      }
    } catch {
      this.stop.abort()
    }
    this.sending = false
  }
}

// One folder of this process, and the hub whenever there is one.
class Link {
  id = randomUUID()
  users = 0
  started = false
  left = false

  constructor(directory) {
    this.directory = directory
  }

  hear(event) {
    const news = told(event)
    if (!news) return
    if (!this.started) {
      this.started = true
      void this.keep()
    }
    this.line?.say({ event: JSON.stringify({ directory: this.directory, payload: news }) })
  }

  async keep() {
    let pause = FIRST_PAUSE
    while (!this.left) {
      let line
      try {
        line = new Line(this)
        this.newest = line
        await line.live()
      } catch {}
      this.newest = undefined
      if (this.left) return
      pause = line?.reached ? FIRST_PAUSE : Math.min(pause * 2, LAST_PAUSE)
      await new Promise((done) => setTimeout(done, pause))
    }
  }

  async leave() {
    this.left = true
    const line = this.newest
    if (!line) return
    // One that is still being made is not to be made later.
    if (!line.reached) line.stop.abort()
    await request(line.hub, "DELETE", `/${this.id}`, "", AbortSignal.timeout(FAREWELL)).catch(() => {})
    line.stop.abort()
  }
}

// One link for each folder: OpenCode may load a plugin twice into one process, and tell events to one of the two only.
const links = (globalThis[Symbol.for("askd.opencode")] ??= new Map())

export const Askd = async ({ client, directory }) => {
  // askd's own sessions are heard by their own road; and without this inner client OpenCode cannot be spoken to.
  if (process.env.ASKD_SESSION || typeof client?._client?.request !== "function") return {}
  const link = links.get(directory) ?? new Link(directory)
  links.set(directory, link)
  link.users += 1
  link.api = client._client
  return {
    event: async ({ event }) => {
      try {
        link.hear(event)
      } catch {}
    },
    dispose: async () => {
      link.users -= 1
      if (link.users > 0) return
      links.delete(directory)
      await link.leave()
    },
  }
}
