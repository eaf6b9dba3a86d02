// A client that was written for OpenCode and follows the flow of its question tool, with nothing but the published SDK: it waits for a
// running `question` part, finds the request by its call, answers or dismisses it, and waits until the part is over.
//
// In: an address and what to do (`{"answers":[["A"]]}` or `{"dismiss":true}`) as arguments, the password in PASSWORD. Out: the line
// `listening` as soon as events are heard, and at the end one line of JSON with what was seen. live_opencode_sdk plays it with real agents.
import assert from "node:assert/strict"
import { createOpencodeClient } from "@opencode-ai/sdk/v2"

const [baseUrl, wish] = process.argv.slice(2)
const { answers, dismiss } = JSON.parse(wish)
const Authorization = `Basic ${Buffer.from(`opencode:${process.env.PASSWORD}`).toString("base64")}`
const api = createOpencodeClient({ baseUrl, headers: { Authorization } })

let request
const { stream } = await api.event.subscribe()
for await (const { type, properties } of stream) {
  if (type === "server.connected") console.log("listening")
  const part = type === "message.part.updated" && properties.part
  if (part?.type !== "tool" || part.tool !== "question") continue
  if (part.state.status === "running" && !request) {
    const { data: list } = await api.question.list()
    request = list.find((each) => each.tool?.callID === part.callID)
    assert.deepEqual(request?.questions, part.state.input.questions)
    const requestID = request.id
    const { data: taken, error } = dismiss
      ? await api.question.reject({ requestID })
      : await api.question.reply({ requestID, answers })
    assert.equal(taken, true, JSON.stringify(error))
  } else if (part.callID === request?.tool.callID && part.state.status !== "running") {
    console.log(JSON.stringify({ request, part }))
    process.exit(0)
  }
}
assert.fail("the stream of events ended")
