// What the scan is measured against: every transcript is read whole and every line parsed, as a watcher without an index does.
// In: a folder of projects. Out: the number of open questions and the milliseconds that it took, as JSON.
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

const began = performance.now()
const projects = process.argv[2]
let open = 0
for (const project of readdirSync(projects)) {
  for (const name of readdirSync(join(projects, project))) {
    const asked = new Map()
    const answered = new Set()
    for (const line of readFileSync(join(projects, project, name), "utf8").split("\n")) {
      if (line.trim() === "") continue
      let entry
      try {
        entry = JSON.parse(line)
      } catch {
        continue
      }
      const content = entry.message?.content
      if (!Array.isArray(content)) continue
      for (const item of content) {
        if (item.type === "tool_use" && item.name === "AskUserQuestion") asked.set(item.id, item.input.questions)
        if (item.type === "tool_result") answered.add(item.tool_use_id)
      }
    }
    for (const id of asked.keys()) if (!answered.has(id)) open += 1
  }
}
const { user, system } = process.cpuUsage()
console.log(JSON.stringify({ open, wallMs: performance.now() - began, processorMs: (user + system) / 1000 }))
