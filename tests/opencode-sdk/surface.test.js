// The published OpenCode SDK, unmodified, against askd's /opencode surface: a question of any agent is found by its tool
// part, answered, and seen completed. ASKD names the binary, else the debug build; everything runs on loopback and ends with the test.
import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { after, before, test } from "node:test"
import { createOpencodeClient } from "@opencode-ai/sdk/v2"

const LIMIT = 60_000
const askd = process.env.ASKD ?? join(import.meta.dirname, "../../target/debug/askd")
const folder = mkdtempSync(join(tmpdir(), "askd-sdk-"))
const env = { ...process.env, ASKD_ALLOW_INSIDE_AGENT: "1" }
let hub, url, token

before(async () => {
  hub = spawn(
    askd,
    ["up", "--listen", "127.0.0.1:0", "--data", join(folder, "data"), "--end-agents", "--no-discovery"],
    {
      env,
      stdio: ["ignore", "pipe", "inherit"],
    },
  )
  url = await new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("no hub")), LIMIT)
    createInterface({ input: hub.stdout }).on("line", (line) => {
      const found = line.match(/http:\/\/[0-9.:]+/)
      if (!found) return
      clearTimeout(timer)
      resolve(found[0])
    })
  })
  token = readFileSync(join(folder, "data", "token"), "utf8").trim()
})

after(async () => {
  hub.kill("SIGTERM")
  await new Promise((resolve) => (hub.exitCode === null ? hub.once("exit", resolve) : resolve()))
  rmSync(folder, { recursive: true, force: true, maxRetries: 20 })
})

const client = (options = {}) =>
  createOpencodeClient({
    baseUrl: `${url}/opencode`,
    headers: { Authorization: `Basic ${Buffer.from(`opencode:${token}`).toString("base64")}` },
    ...options,
  })

const v1 = async (method, path, body) => {
  const response = await fetch(url + path, {
    method,
    body: body && JSON.stringify(body),
    signal: AbortSignal.timeout(LIMIT),
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
  })
  return { status: response.status, data: await response.json() }
}

/** The events that come until one is wanted. */
const until = async (stream, wanted) => {
  const seen = []
  const timer = setTimeout(() => stream.return?.(), LIMIT)
  for await (const event of stream) {
    seen.push(event)
    if (wanted(event)) break
  }
  clearTimeout(timer)
  return seen
}

const listen = async (method, parameters) => {
  const aborter = new AbortController()
  const { stream } = await method(parameters, { signal: aborter.signal })
  return { stream, stop: () => aborter.abort() }
}

test("a question of the mock is found by its running part, answered and completed", async () => {
  const api = client()
  const { stream, stop } = await listen(api.event.subscribe.bind(api.event))
  const first = await stream.next()
  assert.equal(first.value.type, "server.connected")
  const started = await v1("POST", "/v1/sessions", { agent: "mock", prompt: "question" })
  assert.equal(started.status, 201)

  const isRunning = (e) => e.type === "message.part.updated" && e.properties.part.state.status === "running"
  const asked = await until({ [Symbol.asyncIterator]: () => ({ next: () => stream.next() }) }, isRunning)
  const part = asked.at(-1).properties.part
  assert.deepEqual(asked.map((e) => e.type).slice(-2), ["question.asked", "message.part.updated"])
  assert.equal(part.tool, "question")

  const { data: list } = await api.question.list()
  const request = list.find((each) => each.tool.callID === part.callID)
  assert.deepEqual(request, asked.at(-2).properties)
  const label = request.questions[0].options[0].label
  const bad = await api.question.reply({ requestID: request.id, answers: [[label, "and more"]] })
  assert.equal(bad.response.status, 400)
  const { data: taken } = await api.question.reply({ requestID: request.id, answers: [[label]] })
  assert.equal(taken, true)

  const isDone = (e) => e.type === "message.part.updated" && e.properties.part.state.status === "completed"
  const done = await until({ [Symbol.asyncIterator]: () => ({ next: () => stream.next() }) }, isDone)
  assert.deepEqual(done.at(-2).properties.answers, [[label]])
  assert.equal(done.at(-1).properties.part.callID, part.callID)
  assert.deepEqual(done.at(-1).properties.part.state.metadata.answers, [[label]])
  stop()

  const again = await api.question.reply({ requestID: request.id, answers: [[label]] })
  assert.equal(again.response.status, 404)
  assert.equal(again.error._tag ?? again.error.data?._tag, "QuestionNotFoundError")
  assert.equal((await api.question.reject({ requestID: request.id })).response.status, 404)
})

test("a client that comes late finds the running part in the messages of the session", async () => {
  const api = client()
  const { data: session } = await v1("POST", "/v1/sessions", { agent: "mock", prompt: "question" })
  const sessionID = session.id
  const found = async (status) => {
    for (const end = Date.now() + LIMIT; Date.now() < end; await new Promise((done) => setTimeout(done, 20))) {
      const { data: messages } = await api.session.messages({ sessionID })
      const part = messages
        .flatMap(({ parts }) => parts)
        .find((part) => part.tool === "question" && part.state.status === status)
      if (part) return part
    }
    assert.fail(`no part that is ${status}`)
  }
  const part = await found("running")
  const request = (await api.question.list()).data.find((each) => each.tool.callID === part.callID)
  const [label] = request.questions[0].options.map((option) => option.label)
  assert.equal((await api.question.reply({ requestID: request.id, answers: [[label]] })).data, true)
  const done = await found("completed")
  assert.deepEqual([done.id, done.state.metadata.answers], [part.id, [[label]]])
  const { data: message } = await api.session.message({ sessionID, messageID: part.messageID })
  assert.deepEqual([message.info.role, message.parts], ["assistant", [done]])

  const missing = await api.session.message({ sessionID, messageID: "msg_x" })
  assert.deepEqual([missing.response.status, missing.error.name], [404, "NotFoundError"])
  assert.equal((await api.session.messages({ sessionID: "ses_x" })).response.status, 404)
})

test("what does not fit leaves the question open, and of five answers at once one wins", async () => {
  const api = client()
  const items = [
    { question: "Which?", options: ["A", "B"] },
    { question: "What else?", options: ["C"], multiple: true },
  ]
  const ask = async () => (await v1("POST", "/v1/questions", { questions: items })).data.id
  const requestID = await ask()
  for (const answers of ["A", ["A"], [[1]], null, [["A", "B"], []], [["A"], ["C"], ["C"]]]) {
    const { response, error } = await api.question.reply({ requestID, answers })
    assert.deepEqual(
      [response.status, error.name, error.data.kind],
      [400, "BadRequest", "Payload"],
      JSON.stringify(answers),
    )
  }
  assert.ok((await api.question.list()).data.some((each) => each.id === requestID))
  // Too few: the others are unanswered, as with the real server. What is not known in the body is passed over.
  const replies = await Promise.all(
    ["A", "B", "1", "2", "3"].map((word) => api.question.reply({ requestID, answers: [[word]], more: 1 })),
  )
  assert.deepEqual(replies.map(({ response }) => response.status).sort(), [200, 404, 404, 404, 404])
  const { outcome } = (await v1("GET", `/v1/questions/${requestID}`)).data
  const winner = ["A", "B", "1", "2", "3"][replies.findIndex(({ data }) => data === true)]
  assert.deepEqual(
    outcome.answers.map(({ picks, words }) => [...picks, ...words]),
    [[winner], []],
  )

  const other = await ask()
  const both = await Promise.all([
    api.question.reject({ requestID: other }),
    api.question.reply({ requestID: other, answers: [[], []] }),
  ])
  assert.deepEqual(both.map(({ response }) => response.status).sort(), [200, 404])
})

test("directory is honoured, on the list, the answer and the stream of all folders", async () => {
  const ask = (cwd) =>
    v1("POST", "/v1/questions", { questions: [{ question: "Here?", options: ["Yes", "No"] }], context: { cwd } })
  const everywhere = client()
  const { stream, stop } = await listen(everywhere.global.event.bind(everywhere.global))
  assert.equal((await stream.next()).value.payload.type, "server.connected")
  const one = (await ask("/home/dev/one")).data
  const two = (await ask("/home/dev/two")).data
  const events = []
  while (events.filter((e) => e.payload.type === "question.asked").length < 2) events.push((await stream.next()).value)
  assert.deepEqual(
    events.filter((e) => e.payload.type === "question.asked").map((e) => e.directory),
    ["/home/dev/one", "/home/dev/two"],
  )
  stop()

  const here = client({ directory: "/home/dev/one" })
  assert.deepEqual(
    (await here.question.list()).data.map((each) => each.id),
    [one.id],
  )
  assert.equal((await here.question.reply({ requestID: two.id, answers: [["Yes"]] })).response.status, 404)
  assert.equal((await here.question.reply({ requestID: one.id, answers: [["Yes"]] })).data, true)
  assert.equal((await everywhere.question.reject({ requestID: two.id })).data, true)
  assert.deepEqual((await v1("GET", `/v1/questions/${one.id}`)).data.outcome.answers[0].picks, ["Yes"])
  assert.equal((await v1("GET", `/v1/questions/${two.id}`)).data.status, "rejected")
})

test("statuses and bodies are those of the real server", async () => {
  const raw = (path, init = {}) =>
    fetch(`${url}/opencode${path}`, {
      ...init,
      signal: AbortSignal.timeout(LIMIT),
      headers: { authorization: `Basic ${btoa(`x:${token}`)}`, ...init.headers },
    })
  const post = (path, body, type = "application/json") =>
    raw(path, { method: "POST", body, headers: { "content-type": type } })
  const none = await fetch(`${url}/opencode/question`)
  assert.deepEqual(
    [none.status, await none.text(), none.headers.get("www-authenticate")],
    [401, "", 'Basic realm="Secure Area"'],
  )
  const byQuery = await fetch(`${url}/opencode/question?auth_token=${encodeURIComponent(btoa(`x:${token}`))}`)
  assert.equal(byQuery.status, 200)
  assert.equal((await post("/question/zzz/reply", '{"answers":[]}')).status, 400)
  const unknown = await post("/question/que_x/reply", '{"answers":[["a"]]}')
  assert.deepEqual(
    [unknown.status, await unknown.json()],
    [404, { _tag: "QuestionNotFoundError", requestID: "que_x", message: "Question request not found: que_x" }],
  )
  const missing = await post("/question/que_x/reply", "{}")
  assert.deepEqual(
    [missing.status, await missing.json()],
    [400, { name: "BadRequest", data: { message: 'Missing key\n  at ["answers"]', kind: "Payload" } }],
  )
  assert.equal((await post("/question/que_x/reply", "{")).status, 500)
  assert.equal((await post("/question/que_x/reply", "a", "text/plain")).status, 415)
})
