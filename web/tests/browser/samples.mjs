// Questions as agents ask them.

export const AUTH = {
  agent: "claude",
  context: {
    cwd: "/home/ada/projects/shop",
    title: "Add sign-in",
    excerpt: "I looked at **both** ways.\n\n- JWT\n- Sessions",
    host: "laptop",
  },
  questions: [
    {
      header: "Auth method",
      question: "Which auth method should we use?",
      options: [
        { label: "JWT", description: "Stateless tokens, good for APIs" },
        { label: "Sessions", description: "Server-side sessions with cookies" },
      ],
    },
  ],
};

export const FEATURES = {
  agent: "opencode",
  context: { cwd: "/home/ada/projects/blog" },
  questions: [
    {
      header: "Features",
      question: "Which features do you want?",
      multiple: true,
      options: [
        { label: "Dark mode", description: "Theme support with system preference" },
        { label: "i18n", description: "Multi-language support" },
        { label: "Analytics", description: "Usage tracking dashboard" },
      ],
    },
    { header: "Deploy", question: "Where should it run?", options: ["Fly", "Own server"] },
    { header: "Name", question: "What shall it be called?" },
  ],
};

const drawing = (title) =>
  `+----------------------------------------+\n|  ${title.padEnd(38)}|\n+----------------------------------------+\n${Array.from({ length: 40 }, (_, i) => `|  row ${String(i + 1).padStart(2)}   ................             |`).join("\n")}\n+----------------------------------------+`;

export const LAYOUT = {
  agent: "claude",
  context: { cwd: "/home/ada/projects/shop", title: "Rework the dashboard" },
  questions: [
    {
      header: "Layout",
      question: "Which dashboard layout do you prefer?",
      options: [
        { label: "Sidebar", description: "Navigation on the left", preview: drawing("Sidebar") },
        { label: "Top bar", description: "Navigation above", preview: drawing("Top bar") },
        {
          label: "Command palette",
          description: "Keyboard first",
          preview:
            "# Palette\n\nPress `Ctrl K`:\n\n```ts\nopenPalette({ fuzzy: true });\n```\n\n| key | does |\n|---|---|\n| Enter | run |\n| Esc | close |",
        },
      ],
    },
    { header: "Colours", question: "Which **colour** scheme?", options: ["Warm", "Cold"] },
  ],
};

export const PLAN = {
  agent: "claude",
  kind: "plan",
  context: { cwd: "/home/ada/projects/shop", title: "Add sign-in" },
  nextModes: ["acceptEdits", "default"],
  body: {
    format: "markdown",
    text: "# Plan: sign-in by e-mail\n\n1. Add a `users` table\n2. Send a **one-time link**\n3. Keep the session for 30 days\n\n```sql\ncreate table users (\n  id uuid primary key,\n  email text unique not null\n);\n```\n\n- [x] schema agreed\n- [ ] mail server chosen\n\n> Old sessions stay valid.",
  },
  questions: [{ question: "Is this plan right?" }],
};

export const PERMISSION = {
  agent: "codex",
  kind: "permission",
  context: { cwd: "/home/ada/projects/blog", title: "Clean up" },
  body: { format: "command", text: "rm -rf ./node_modules && npm ci --ignore-scripts" },
  rejectModes: ["decline", "interrupt"],
  questions: [
    {
      header: "Run",
      question: "May I run this command?",
      options: [
        { label: "Yes, once", value: "allow_once" },
        { label: "Yes, always in this folder", value: "allow_always" },
        { label: "No", value: "reject_once" },
      ],
    },
  ],
};

export const DIFF = {
  agent: "opencode",
  kind: "permission",
  context: { cwd: "/home/ada/projects/blog", title: "Fix the feed" },
  body: {
    format: "diff",
    text: "--- a/feed.ts\n+++ b/feed.ts\n@@ -1,3 +1,3 @@\n import { all } from './posts';\n-export const feed = all().slice(0, 10);\n+export const feed = all().filter((post) => !post.draft).slice(0, 10);\n",
  },
  questions: [{ question: "May I write these changes?", options: ["Allow", "Deny"] }],
};

export const FORM = {
  agent: "goose",
  kind: "form",
  context: { cwd: "/home/ada/projects/ops", title: "Deploy" },
  questions: [
    { header: "Host", question: "Which host?", input: "text", required: true, key: "host" },
    {
      header: "Port",
      question: "Which port?",
      input: "integer",
      bounds: { minimum: 1, maximum: 65535 },
      default: ["8080"],
      key: "port",
    },
    { header: "TLS", question: "Use TLS?", input: "boolean", key: "tls" },
    { header: "When", question: "From which day on?", input: "date", key: "day" },
    { header: "Token", question: "The deploy token", input: "text", secret: true, key: "token" },
    {
      header: "Terms",
      question: "Please accept the terms in the browser.",
      input: "url",
      url: "https://example.org/terms?for=deploy",
      key: "terms",
    },
    { header: "Remarks", question: "Anything else?", input: "multiline", key: "remarks" },
  ],
};
