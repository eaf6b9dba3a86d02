// The plain inbox: lists open questions, follows the stream, answers. Agents' text is only ever set as text.
const TOKEN = "askd.token";
const inbox = document.getElementById("inbox");
const light = document.getElementById("light");
const cards = new Map();

const el = (name, props = {}, ...children) => {
  const node = Object.assign(document.createElement(name), props);
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
};

async function call(path, options = {}) {
  const headers = { authorization: `Bearer ${localStorage.getItem(TOKEN) ?? ""}`, "askd-surface": "web", ...options.headers };
  if (options.body) headers["content-type"] = "application/json";
  const response = await fetch(path, { ...options, headers });
  if (response.ok) return response;
  const problem = await response.json().catch(() => ({ detail: response.statusText }));
  throw Object.assign(new Error(problem.detail), { problem, status: response.status });
}

async function logIn() {
  const code = new URLSearchParams(location.hash.slice(1)).get("login");
  if (!code) return;
  history.replaceState(null, "", location.pathname);
  const response = await call("/v1/login", { method: "POST", body: JSON.stringify({ code }) });
  localStorage.setItem(TOKEN, (await response.json()).token);
}

function say(text) {
  light.textContent = text;
  const open = [...cards.values()].filter((card) => card.open).length;
  document.title = open ? `(${open}) askd` : "askd";
}

function itemFields(question, item, index) {
  const type = item.multiple ? "checkbox" : "radio";
  const name = `${question.id}-${index}`;
  const options = item.options.map((option) => el("label", {},
    el("input", { type, name, value: option.value }), ` ${option.label}`,
    option.description ? el("small", { textContent: option.description }) : null,
    option.preview ? el("pre", { textContent: option.preview }) : null));
  const own = item.custom ? el("input", {
    type: item.secret ? "password" : "text", name: `${name}-own`, autocomplete: "off",
    placeholder: item.options.length ? "or in your own words" : "your answer", ariaLabel: "your own answer",
  }) : null;
  return el("fieldset", {}, el("legend", { textContent: item.question }), ...options, own);
}

function readAnswers(form, question) {
  return question.questions.map((item, index) => {
    const name = `${question.id}-${index}`;
    const picks = [...form.querySelectorAll(`input[name="${name}"]:checked`)].map((input) => input.value);
    const own = form.elements[`${name}-own`]?.value ?? "";
    if (!own.trim()) return picks;
    return item.multiple ? [...picks, own] : [own];
  });
}

function openCard(question) {
  const error = el("p", { className: "error" });
  error.setAttribute("role", "alert");
  const plan = question.kind === "plan";
  const mode = question.rejectModes[0];
  const reason = el("input", { type: "text", placeholder: plan ? "what should change" : "reason (optional)", ariaLabel: "reason" });
  const send = async (path, body) => {
    error.textContent = "";
    try { render(await (await call(`/v1/questions/${question.id}/${path}`, { method: "POST", body: JSON.stringify(body) })).json()); }
    catch (problem) { problem.problem?.question ? render(problem.problem.question) : (error.textContent = problem.message); }
  };
  const form = el("form", {}, ...question.questions.map((item, index) => itemFields(question, item, index)), error,
    el("button", { type: "submit", textContent: "Submit" }), " ",
    mode ? el("button", { type: "button", textContent: plan ? "Send back" : `Reject (${mode})`, onclick: () => send("reject", { mode, reason: reason.value || undefined }) }) : null,
    mode ? reason : null);
  form.addEventListener("submit", (event) => { event.preventDefault(); send("reply", { answers: readAnswers(form, question) }); });
  return [question.body ? el("pre", { textContent: question.body.text }) : null, form];
}

function settledCard(question) {
  const { outcome, delivery } = question;
  const what = outcome.answers ? outcome.answers.map((picks) => picks.join(", ") || "(skipped)").join(" · ") : outcome.reason ?? outcome.cause?.type ?? "";
  return [
    el("p", {}, question.questions.map((item) => item.question).join(" · ")),
    el("p", { className: "settled" }, el("strong", { textContent: question.status }), ` ${what} — ${outcome.by.actor ?? "askd"} (${outcome.by.surface})`,
      delivery ? `, ${delivery.state}` : ""),
  ];
}

function render(question) {
  const known = cards.get(question.id);
  if (known && known.open && question.status === "requested") return;
  const open = question.status === "requested";
  const where = [question.agent, question.context.title, question.context.cwd].filter(Boolean).join(" · ");
  const node = el("article", {}, el("p", { className: "who", textContent: where }), ...(open ? openCard(question) : settledCard(question)));
  known ? known.node.replaceWith(node) : inbox.prepend(node);
  cards.set(question.id, { node, open });
}

async function follow(after) {
  const response = await call(`/v1/events?after=${after}`);
  say("live");
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return after;
    buffer += value;
    const frames = buffer.split("\n\n");
    buffer = frames.pop();
    for (const frame of frames) {
      const data = frame.split("\n").find((line) => line.startsWith("data: "));
      if (!data) continue;
      const event = JSON.parse(data.slice(6));
      if (event.seq) after = event.seq;
      if (event.question) render(event.question);
      say("live");
    }
  }
}

async function run() {
  await logIn();
  for (;;) {
    try {
      const list = await (await call("/v1/questions?status=requested&order=asc&limit=500")).json();
      list.questions.forEach(render);
      let after = list.seq;
      for (;;) after = await follow(after);
    } catch (error) {
      if (error.status === 401) { say("log in with: askd open"); return; }
      say("reconnecting");
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  }
}

run().catch((error) => say(error.message));
