/** What the package promises about itself: made from the API document, for Node and browsers, without dependencies. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { after, before, test } from "node:test";

/** A project that has installed what `npm pack` makes of a clean checkout, which has no built files. */
let project = "";
let packed: string[] = [];
let manifest: Record<string, unknown> = {};

before(() => {
  const root = mkdtempSync(join(tmpdir(), "askd-sdk-pack-"));
  project = root;
  const checkout = join(root, "checkout/sdk/typescript");
  const files = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], { encoding: "utf8" });
  for (const file of files.trim().split("\n")) {
    mkdirSync(dirname(join(checkout, file)), { recursive: true });
    cpSync(file, join(checkout, file));
  }
  for (const licence of ["LICENSE-APACHE", "LICENSE-MIT"]) cpSync(`../../${licence}`, join(root, "checkout", licence));
  symlinkSync(resolve("node_modules"), join(checkout, "node_modules"));
  const said = execFileSync("npm", ["pack", "--json", "--silent", "--pack-destination", root], {
    cwd: checkout,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [pack] = JSON.parse(said.slice(said.indexOf("[\n"))) as { filename: string; files: { path: string }[] }[];
  packed = pack?.files.map((file) => file.path) ?? [];
  const installed = join(root, "node_modules/askd");
  mkdirSync(installed, { recursive: true });
  execFileSync("tar", ["-xzf", join(root, pack?.filename ?? ""), "-C", installed, "--strip-components=1"]);
  for (const name of ["react", "react-dom", "scheduler", "csstype"])
    symlinkSync(resolve("node_modules", name), join(root, "node_modules", name));
  mkdirSync(join(root, "node_modules/@types"));
  for (const name of ["react", "react-dom"])
    symlinkSync(resolve("node_modules/@types", name), join(root, "node_modules/@types", name));
  manifest = JSON.parse(readFileSync(join(installed, "package.json"), "utf8")) as Record<string, unknown>;
});
after(() => rmSync(project, { recursive: true, force: true }));

/** What a file of the project prints. */
function run(name: string, code: string): string {
  writeFileSync(join(project, name), code);
  return execFileSync(process.execPath, [name], { cwd: project, encoding: "utf8" }).trim();
}

/** What the compiler says about a file of the project. */
function compile(name: string, code: string, ...options: string[]): string {
  writeFileSync(join(project, name), code);
  const tsc = resolve("node_modules/.bin/tsc");
  const more = ["--noEmit", "--strict", "--target", "es2022", "--lib", "es2022,dom", ...options];
  try {
    return execFileSync(tsc, [name, ...more], { cwd: project, encoding: "utf8" });
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}

test("the_types_are_those_of_the_api_document", () => {
  // `npm run generate` mends it.
  execFileSync("node_modules/.bin/openapi-typescript", ["../../api/openapi.json", "-o", "src/generated.ts", "--check"]);
});

test("nothing_in_it_needs_node_or_another_package", () => {
  const files = readdirSync("dist").filter((name) => name.endsWith(".js"));
  assert.ok(files.includes("index.js"));
  for (const file of files) {
    const code = readFileSync(`dist/${file}`, "utf8");
    const imports = [...code.matchAll(/(?:from|import)\s*\(?\s*["']([^"']+)["']/g)].map((found) => found[1] ?? "");
    // React is given by the page, and only to its own entry.
    const wanted = imports.filter(
      (name) => !/^\.\/[a-z-]+\.js$/.test(name) && !(file === "react.js" && name === "react"),
    );
    assert.deepEqual(wanted, [], file);
    assert.doesNotMatch(code, /\b(process|Buffer|require|__dirname)\b[.(]/, file);
  }
  const manifest = JSON.parse(readFileSync("package.json", "utf8")) as Record<string, unknown>;
  assert.equal(manifest.dependencies, undefined);
});

test("the_lock_file_names_no_registry", () => {
  const lock = JSON.parse(readFileSync("package-lock.json", "utf8")) as {
    packages: Record<string, { resolved?: string }>;
  };
  assert.deepEqual(
    Object.values(lock.packages).filter((entry) => entry.resolved !== undefined),
    [],
  );
});

test("npm_pack_builds_from_a_clean_checkout", () => {
  const entries = Object.values(manifest.exports as Record<string, unknown>).flatMap((entry) =>
    typeof entry === "string" ? [entry] : Object.values(entry as object).flatMap((one: object) => Object.values(one)),
  ) as string[];
  for (const wanted of [...entries, "LICENSE-APACHE", "LICENSE-MIT", "README.md", "dist/cjs/package.json"])
    assert.ok(packed.includes(wanted.replace(/^\.\//, "")), wanted);
  assert.deepEqual(
    packed.filter(
      (path) =>
        !/^(dist\/(cjs\/)?([a-z-]+\.(js|d\.ts)|package\.json)|LICENSE-(APACHE|MIT)|README\.md|package\.json)$/.test(
          path,
        ),
    ),
    [],
  );
  const links = [...readFileSync("README.md", "utf8").matchAll(/\]\(([^)]+)\)/g)].map((found) => found[1] ?? "");
  assert.deepEqual(
    links.filter((link) => !packed.includes(link)),
    [],
    "what the README points to is in the package",
  );
});

test("it_is_imported_and_required_also_on_a_server_that_renders", () => {
  const names = ["", "/widget", "/react", "/ai-sdk", "/acp", "/explain", "/text", "/keys", "/sight"].map(
    (name) => `askd${name}`,
  );
  const told = "all.map((one) => Object.keys(one).length > 0).join()";
  const imports = `const all = await Promise.all(${JSON.stringify(names)}.map((name) => import(name))); console.log(${told});`;
  const wanted = names.map(() => true).join();
  assert.equal(run("all.mjs", imports), wanted);
  assert.equal(
    run("all.cjs", `const all = ${JSON.stringify(names)}.map((name) => require(name)); console.log(${told});`),
    wanted,
  );
  const rendered = run(
    "server.mjs",
    `import { createElement } from "react";
    import { renderToString } from "react-dom/server";
    import { AskdClient } from "askd";
    import { AskdProvider, Question } from "askd/react";
    const client = new AskdClient({ url: "http://127.0.0.1:9", token: "t" });
    console.log(renderToString(createElement(AskdProvider, { client }, createElement(Question, { callId: "toolu_1" }))));`,
  );
  assert.equal(rendered, '<askd-question call-id="toolu_1"></askd-question>');
});

const USE = `
  import { type AskdError, AskdClient, type Outcome } from "askd";
  import type { AskdQuestionElement } from "askd/widget";
  export function use(widget: AskdQuestionElement, outcome: Outcome, error: AskdError, client: AskdClient): string {
    widget.addEventListener("askd-settled", (event) => event.detail.question.id);
    widget.addEventListener("askd-failed", (event) => event.detail.code === "hub_away");
    widget.addEventListener("click", (event) => event.clientX);
    document.createElement("askd-question").addEventListener("askd-asked", ({ detail }) => detail.question);
    client.onQuestion((question, { signal, answer }) => {
      signal.addEventListener("abort", () => undefined);
      void answer([["x"]]).then(({ id }) => id);
    });
    if (error.code === "already_settled") return "";
    // Each status has its own fields.
    if (outcome.status === "answered") return outcome.answers.map(({ picks }) => picks.join()).join();
    if (outcome.status === "rejected") return outcome.reason ?? "";
    return outcome.cause?.type ?? "";
  }
`;

test("its_types_are_taken_by_tsc_as_a_module_and_as_commonjs", () => {
  assert.equal(compile("use.mts", USE, "--module", "nodenext"), "");
  assert.equal(compile("use.cts", USE, "--module", "node16"), "");
  assert.equal(compile("use.ts", USE, "--module", "esnext", "--moduleResolution", "bundler"), "");
  assert.match(
    compile("wrong.mts", USE.replace("event.detail.question.id", "event.detail.nothing"), "--module", "nodenext"),
    /nothing/,
  );
});

test("its_element_and_hooks_have_types_in_jsx", () => {
  const part = `
    import { AskdProvider, Question, useQuestion, useQuestions } from "askd/react";
    import type { AskdClient } from "askd";
    export function Chat({ client }: { client: AskdClient }) {
      const { questions } = useQuestions({ client });
      const { question, state, answer } = useQuestion<string>("toolu_1", { client });
      return (
        <AskdProvider client={client}>
          {questions.map(({ id }) => <Question key={id} questionId={id} onSettled={(event) => event.detail.question.id} />)}
          <Question callId="x" renderers={{ permission: ({ question, answer }) => <button onClick={() => void answer([["a"]])}>{question.id}</button> }} />
          <askd-question call-id="x" client={client} onaskd-settled={(event) => event.detail.question.id} />
          {state}{question?.id}<button onClick={() => void answer([["a"]])} />
        </AskdProvider>
      );
    }`;
  const options = ["--module", "nodenext", "--jsx", "react-jsx"];
  assert.equal(compile("part.tsx", part, ...options), "");
  assert.match(compile("wrong.tsx", part.replace('callId="x"', "callId={1}"), ...options), /callId|number/);
});

test("its_error_codes_are_those_of_the_document", () => {
  const errors = readFileSync("../../docs/api.md", "utf8").split("## Errors")[1]?.split("\n## ")[0] ?? "";
  const rows = errors.split("\n").filter((line) => /^\| [0-9 ]+ \|/.test(line));
  const document = rows.flatMap((row) =>
    [...row.matchAll(/`([a-z_ ]+)`/g)].flatMap((found) => (found[1] ?? "").split(" ")),
  );
  assert.ok(document.length > 20);
  const types = readFileSync("src/types.ts", "utf8").split("export type ErrorCode =")[1] ?? "";
  assert.deepEqual(
    document.filter((code) => !types.includes(`| "${code}"`)),
    [],
  );
});
