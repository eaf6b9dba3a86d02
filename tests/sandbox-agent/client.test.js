// The published TypeScript clients of sandbox-agent, unmodified, against askd: their base URL and token are all that changes.
// ASKD names the binary, else the debug build; everything runs on loopback and ends with the test.
import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { Readable } from "node:stream"
import { after, before, test } from "node:test"
import { AcpHttpClient } from "acp-http-client"
import { SandboxAgent } from "sandbox-agent"

const LIMIT = 60_000
/** Several steps of at most that long. */
const WHOLE = 4 * LIMIT
const QUESTION = "_sandboxagent/session/request_question"
const askd = process.env.ASKD ?? join(import.meta.dirname, "../../target/debug/askd")
const folder = mkdtempSync(join(tmpdir(), "askd-sandbox-agent-"))
let hub, baseUrl, token

before(async () => {
  hub = spawn(
    askd,
    ["up", "--listen", "127.0.0.1:0", "--data", join(folder, "data"), "--end-agents", "--no-discovery"],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  )
  baseUrl = await new Promise((resolve, reject) => {
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

const v1 = async (method, path, body) => {
  const response = await fetch(`${baseUrl}/v1${path}`, {
    method,
    body: body && JSON.stringify(body),
    signal: AbortSignal.timeout(LIMIT),
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
  })
  return { status: response.status, data: response.status === 204 ? null : await response.json() }
}

/** The record of a client that could not show a question, in the transcript of its session. */
const notShown = async (session) => {
  const response = await fetch(`${baseUrl}/v1/sessions/${session}/transcript?raw=true`, {
    headers: { authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(LIMIT),
  })
  for await (const line of createInterface({ input: Readable.fromWeb(response.body) })) {
    const raw = line.startsWith("data: ") ? JSON.parse(line.slice(6)).raw : undefined
    if (raw?.includes("_askd/question_not_shown")) return JSON.parse(raw)
  }
}

const prompt = (text) => [{ type: "text", text }]

/** What a callback is called with the first time that it is what is wanted. */
const first = (register, wanted) =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("not seen in time")), LIMIT)
    register((value) => {
      if (!wanted(value)) return
      clearTimeout(timer)
      resolve(value)
    })
  })

test("the ACP client is asked in its stream and its answer reaches the agent", { timeout: WHOLE }, async () => {
  const asked = []
  let told = () => {}
  const acp = new AcpHttpClient({
    baseUrl,
    token,
    transport: { path: "/v1/acp/typescript", bootstrapQuery: { agent: "mock" } },
    client: {
      extMethod: async (method, params) => {
        asked.push({ method, params })
        return { status: "answered", answers: [[params.options[1][0]]] }
      },
      sessionUpdate: async ({ update }) => told(update.content?.text ?? ""),
    },
  })
  const hello = await acp.initialize({ clientCapabilities: {} })
  assert.equal(hello.agentCapabilities._meta.extensions.sessionRequestQuestion, true)
  const { sessionId } = await acp.newSession({ cwd: "/tmp", mcpServers: [] })
  // The stream and the response come by two connections, so either may be read first.
  const received = first(
    (seen) => (told = seen),
    (text) => text.startsWith("received: "),
  )
  const turn = await acp.prompt({ sessionId, prompt: prompt("question") })
  assert.equal(turn.stopReason, "end_turn")
  assert.match(await received, /option-b/)
  assert.deepEqual(
    asked.map(({ method, params }) => [method, params.prompt]),
    [[QUESTION, "Which option?"]],
  )
  const { data } = await v1("GET", "/questions?status=answered")
  assert.deepEqual(data.questions[0].outcome.answers, [{ picks: ["option-b"], labels: ["Option B"], words: [] }])
  await acp.disconnect()
})

test("the SDK's sessions work, and a question that it does not know stays open for others", {
  timeout: WHOLE,
}, async () => {
  const sdk = await SandboxAgent.connect({ baseUrl, token })
  const session = await sdk.createSession({ agent: "mock", cwd: "/tmp" })

  const wanted = first(
    (seen) => session.onPermissionRequest(seen),
    () => true,
  )
  const allowed = session.prompt(prompt("permission"))
  await session.respondPermission((await wanted).id, "once")
  assert.equal((await allowed).stopReason, "end_turn")
  const settled = (await v1("GET", "/questions?status=answered")).data.questions[0]
  assert.deepEqual([settled.kind, settled.outcome.answers[0].picks], ["permission", ["allow-once"]])

  // The SDK answers what it does not know with -32601 by itself. That is recorded, and it is nobody's answer.
  const shown = first(
    (seen) => session.onEvent(seen),
    ({ payload }) => payload.method === QUESTION,
  )
  const answered = session.prompt(prompt("question"))
  const { params } = (await shown).payload
  const [open] = (await v1("GET", "/questions?status=requested")).data.questions
  const refused = await notShown(open.sessionId)
  assert.match(refused.params.error, /-32601/)
  assert.equal((await v1("GET", `/questions/${open.id}`)).data.status, "requested")
  const path = `/sessions/${params.sessionId}/questions/${params.questionId}/reply`
  assert.equal((await v1("POST", path, { answers: [["option-a"]] })).status, 204)
  assert.equal((await answered).stopReason, "end_turn")
  await sdk.dispose()
  const held = async () => (await v1("GET", "/holders")).data.holders
  for (const end = Date.now() + LIMIT; (await held()).length > 0 && Date.now() < end; )
    await new Promise((done) => setTimeout(done, 50))
  assert.deepEqual(await held(), [])
})
