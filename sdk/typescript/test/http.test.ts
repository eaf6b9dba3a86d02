/** What the client makes of responses that no healthy hub sends: a fetch of the test's own stands in for the hub. */

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  AskdClient,
  AskdError,
  ConnectionError,
  isRetryable,
  NotFoundError,
  type Problem,
  type Question,
  UnavailableError,
} from "askd";

import { eventually, failure } from "./support/tools.js";

type Answer = (url: URL, init: RequestInit) => Response | Promise<Response>;

function clientOf(answer: Answer, url = "http://hub.test"): AskdClient {
  return new AskdClient({ url, token: "t", fetch: async (input, init) => answer(new URL(String(input)), init ?? {}) });
}

function problem(code: string, status: number, more: Partial<Problem> = {}): Problem {
  return { type: "about:blank", title: "No", detail: "because", code, status, ...more };
}

test("an_error_that_comes_after_the_status_is_still_an_error", async () => {
  const client = clientOf(() => new Response(`   ${JSON.stringify(problem("not_found", 404))}`));
  assert.ok((await failure(client.questions.get("que_x", { wait: 20 }))) instanceof NotFoundError);
  // Only a request that waited can fail so late: what an agent wrote is never taken for an error.
  assert.deepEqual(await client.questions.native("que_x"), problem("not_found", 404));
});

test("a_proxys_page_is_no_answer_of_the_hub", async () => {
  const page = (status: number) =>
    clientOf(() => new Response("<html>Bad gateway</html>", { status, headers: { "retry-after": "2" } }));
  const gateway = await failure(page(502).health());
  assert.ok(
    gateway instanceof UnavailableError &&
      gateway.code === "http_502" &&
      gateway.retryAfter === 2000 &&
      isRetryable(gateway),
  );
  const teapot = await failure(page(418).health());
  assert.ok(teapot instanceof AskdError && teapot.status === 418 && !isRetryable(teapot));
  const success = await failure(page(200).health());
  assert.ok(success instanceof AskdError && success.code === "unexpected_response" && !isRetryable(success));
  const stream = await failure(page(200).events({ after: 0 }).next());
  assert.ok(stream instanceof AskdError && stream.code === "unexpected_response");
});

test("a_full_inbox_is_told_and_a_busy_hub_is_waited_for", async () => {
  const full = clientOf(() => Response.json(problem("too_many_open_questions", 429), { status: 429 }));
  const error = await failure(full.ask({ questions: [{ question: "?" }] }));
  assert.ok(error instanceof UnavailableError && error.code === "too_many_open_questions");
  let tries = 0;
  const busy = clientOf(() => {
    tries += 1;
    if (tries < 3) return Response.json(problem("stopping", 503), { status: 503 });
    return Response.json({ id: "que_x", status: "rejected", questions: [], outcome: { status: "rejected" } });
  });
  assert.equal((await busy.ask({ questions: [{ question: "?" }] })).status, "rejected");
});

test("an_abort_before_the_hub_has_answered_still_takes_the_question_back", async () => {
  const controller = new AbortController();
  const paths: string[] = [];
  const client = clientOf(async (url) => {
    paths.push(url.pathname);
    controller.abort(new Error("enough"));
    return Response.json({ id: "que_x", status: "requested", questions: [], outcome: null });
  });
  const options = { signal: controller.signal, withdrawOnAbort: true };
  assert.match(String(await failure(client.ask({ questions: [{ question: "?" }] }, options))), /enough/);
  await eventually(() => paths.length >= 2);
  assert.deepEqual(paths, ["/v1/questions", "/v1/questions/que_x/withdraw"]);
});

test("an_abort_does_not_wait_for_a_silent_hub_and_nothing_is_unhandled", async () => {
  const unhandled: unknown[] = [];
  const note = (error: unknown) => unhandled.push(error);
  process.on("unhandledRejection", note);
  const paths: string[] = [];
  const keys = new Set<string | null>();
  let answer: (response: Response | Error) => void = () => undefined;
  const client = clientOf(async (url, init) => {
    paths.push(url.pathname);
    if (url.pathname === "/v1/questions") keys.add(new Headers(init.headers).get("idempotency-key"));
    const response = await new Promise<Response | Error>((resolve) => (answer = resolve));
    if (response instanceof Error) throw response;
    return response;
  });
  const controller = new AbortController();
  const options = { signal: controller.signal, withdrawOnAbort: true };
  const asking = failure(client.ask({ questions: [{ question: "?" }] }, options));
  await eventually(() => paths.length === 1);
  const reason = new Error("enough");
  controller.abort(reason);
  assert.equal(await asking, reason, "while the hub has not said a word");
  // The connection breaks, so nobody knows whether the question was stored; and so does the withdrawal's.
  answer(new TypeError("fetch failed"));
  await eventually(() => paths.length === 2);
  answer(Response.json({ id: "que_x", status: "requested", questions: [], outcome: null }));
  await eventually(() => paths.length === 3);
  answer(new TypeError("fetch failed"));
  await eventually(() => paths.length === 4);
  answer(Response.json(problem("not_found", 404), { status: 404 }));
  await new Promise((resolve) => setImmediate(resolve));
  const withdrawal = "/v1/questions/que_x/withdraw";
  assert.deepEqual(paths, ["/v1/questions", "/v1/questions", withdrawal, withdrawal]);
  assert.equal(keys.size, 1);
  process.off("unhandledRejection", note);
  assert.deepEqual(unhandled, []);
});

/** The frame of an event that says that a question is open. */
function requested(seq: number, id: string): string {
  return `id: ${seq}\ndata: ${JSON.stringify({ seq, type: "question.requested", question: { id, status: "requested" } })}\n\n`;
}

/** A stream that goes on for ever. */
function streamOf(...pieces: string[]): Response {
  const encoder = new TextEncoder();
  const start = (to: ReadableStreamDefaultController) => pieces.forEach((piece) => to.enqueue(encoder.encode(piece)));
  return new Response(new ReadableStream({ start }), { headers: { "content-type": "text/event-stream" } });
}

test("a_question_that_was_settled_before_the_stream_told_of_it_is_not_handed_over", async () => {
  const asked: string[] = [];
  const client = clientOf((url) => {
    if (url.pathname === "/v1/questions") return Response.json({ questions: [], nextCursor: null, seq: 0 });
    // The boundary of what was read at once lies between the question and its end, which is not told yet.
    if (url.pathname === "/v1/events") return streamOf(requested(1, "que_old"), requested(2, "que_new"));
    asked.push(url.pathname);
    return Response.json({
      id: url.pathname.slice(14),
      status: url.pathname.endsWith("new") ? "requested" : "answered",
    });
  });
  const calls: string[] = [];
  const stop = client.onQuestion((question) => void calls.push(question.id));
  await eventually(() => calls.length > 0);
  stop();
  assert.deepEqual(calls, ["que_new"]);
  assert.deepEqual(asked, ["/v1/questions/que_old", "/v1/questions/que_new"]);
});

test("an_answer_that_cannot_be_sent_after_the_end_is_told", async () => {
  const client = clientOf((url) => {
    if (url.pathname.endsWith("/reply")) throw new TypeError("fetch failed");
    if (url.pathname === "/v1/events") return streamOf(": connected\n\n");
    return Response.json({ questions: [{ id: "que_x", status: "requested" }], nextCursor: null, seq: 0 });
  });
  const errors: [unknown, string | undefined][] = [];
  const onError = (error: unknown, question: Question | null) => errors.push([error, question?.id]);
  const handler = async () => {
    await new Promise((resolve) => setImmediate(resolve));
    stop();
    return [["A"]];
  };
  const stop = client.onQuestion(handler, { onError });
  await eventually(() => errors.length > 0);
  assert.ok(errors[0]?.[0] instanceof ConnectionError);
  assert.deepEqual([errors.length, errors[0][1]], [1, "que_x"]);
});

const ASKED = { id: "que_x", status: "requested", questions: [], outcome: null };
const away = (): never => {
  throw new TypeError("fetch failed");
};

/** How a promise ended, and after how many milliseconds. */
async function timed<T>(promise: Promise<T>): Promise<[T | unknown, number]> {
  const started = Date.now();
  const end = await promise.catch((error: unknown) => error);
  return [end, Date.now() - started];
}

test("an_ask_holds_its_wait_when_the_hub_is_away_from_the_start", async () => {
  const input = { questions: [{ question: "?" }] };
  const [error, took] = await timed(clientOf(away).ask(input, { wait: 2 }));
  assert.ok(error instanceof ConnectionError);
  assert.ok(took >= 1_900 && took < 4_000, `${took} ms`);
  // Without time to wait it still gets over one broken connection.
  let tries = 0;
  const flaky = clientOf(() => ((tries += 1) === 1 ? away() : Response.json(ASKED)));
  assert.equal((await flaky.ask(input, { wait: 0 })).status, "requested");
});

test("an_ask_whose_hub_dies_during_the_wait_says_in_time_that_the_question_is_open", async () => {
  const client = clientOf((_, init) => (init.method === "POST" ? Response.json(ASKED) : away()));
  const [result, took] = await timed(client.ask({ questions: [{ question: "?" }] }, { wait: 2 }));
  assert.deepEqual(result, { status: "requested", question: ASKED });
  assert.ok(took >= 1_900 && took < 4_000, `${took} ms`);
  const [error] = await timed(client.questions.untilSettled("que_x", { wait: 0 }));
  assert.ok(error instanceof ConnectionError);
});

test("every_wait_gives_a_silent_hub_a_few_seconds_more", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout", "Date"] });
  let requests = 0;
  const client = clientOf((_, init) => {
    requests += 1;
    return new Promise((_, reject) =>
      init.signal?.addEventListener("abort", () => reject(init.signal?.reason as Error)),
    );
  });
  for (const wait of [
    () => client.ask({ questions: [{ question: "?" }] }, { wait: 2 }),
    () => client.questions.get("que_x", { wait: 2 }),
    () => client.questions.byCall("call", { wait: 2 }),
  ]) {
    const waiting = failure(wait());
    await new Promise((resolve) => setImmediate(resolve));
    t.mock.timers.tick(7_000);
    const error = await waiting;
    assert.ok(error instanceof ConnectionError && /silent/.test(error.message));
    assert.equal(requests, 1);
    requests = 0;
  }
});

test("whoever_waits_for_the_question_of_a_call_waits_for_the_hub_too", async () => {
  let requests = 0;
  const client = clientOf(() => {
    requests += 1;
    if (requests < 3) throw new TypeError("fetch failed");
    return Response.json({ questions: [ASKED], nextCursor: null, seq: 1 });
  });
  assert.ok((await failure(client.questions.byCall("call"))) instanceof ConnectionError);
  assert.equal((await client.questions.byCall("call", { wait: 10 }))?.id, ASKED.id);
});

test("every_wait_goes_to_the_hub_in_whole_seconds_of_at_most_a_day", async () => {
  const waits: (string | null)[] = [];
  const client = clientOf((url, init) => {
    if (init.method === "GET") waits.push(url.searchParams.get("wait"));
    return Response.json({ ...ASKED, status: "rejected", outcome: { status: "rejected" } });
  });
  for (const wait of [3e6, 0.5, 0, -1, Number.NaN, Infinity]) await client.questions.get("que_x", { wait });
  await client.questions.get("que_x");
  assert.deepEqual(waits.splice(0), ["86400", "1", "0", "0", "0", "86400", null]);
  for (const wait of [3e6, 0.5, 0, -1]) await client.ask({ questions: [{ question: "?" }] }, { wait });
  assert.deepEqual(waits, ["55", "1", "0", "0"]);
});

test("a_call_is_not_said_to_be_unknown_while_the_hub_is_away", async () => {
  const client = clientOf((url) =>
    url.pathname === "/v1/events" ? away() : Response.json({ questions: [], nextCursor: null, seq: 0 }),
  );
  assert.ok((await failure(client.replyByCall("call-1", [["A"]], { wait: 0.3 }))) instanceof ConnectionError);
  assert.ok((await failure(client.questions.byCall("call-1", { wait: 0.3 }))) instanceof ConnectionError);
});

test("a_base_path_of_a_proxy_is_kept_and_bad_addresses_are_refused", async () => {
  const seen: string[] = [];
  const client = clientOf((url, init) => {
    seen.push(`${init.method} ${url.pathname}`);
    return Response.json({ status: "ok", version: "1" });
  }, "https://box.test/tools/askd/");
  await client.health();
  assert.deepEqual(seen, ["GET /tools/askd/v1/health"]);
  assert.equal(client.url, "https://box.test/tools/askd");
  for (const url of ["nonsense", "ftp://x", "file:///x", "http://user:pw@x"])
    assert.throws(() => new AskdClient({ url }), TypeError);
  assert.equal(new AskdClient().url, "http://127.0.0.1:2753");
});

test("token_surface_and_key_go_as_headers_and_cookies_never", async () => {
  let sent: RequestInit = {};
  const fetch: typeof globalThis.fetch = async (_, init) => {
    sent = init ?? {};
    return Response.json({});
  };
  const client = new AskdClient({ url: "http://hub.test", token: "secret", surface: "web", fetch });
  await client.replyQuestion("que_x", [["a"]], { idempotencyKey: "k" });
  const headers = new Headers(sent.headers);
  assert.equal(headers.get("authorization"), "Bearer secret");
  assert.equal(headers.get("askd-surface"), "web");
  assert.equal(headers.get("idempotency-key"), "k");
  assert.equal(sent.credentials, "omit");
  assert.equal(sent.body, '{"answers":[["a"]]}');
});

test("a_given_fetch_is_called_as_a_function_and_what_it_throws_is_not_tried_again", async () => {
  const receivers: unknown[] = [];
  const client = new AskdClient({
    url: "http://hub.test",
    fetch: function (this: unknown) {
      receivers.push(this);
      return Promise.resolve(Response.json({ status: "ok", version: "1" }));
    },
  });
  await client.health();
  assert.deepEqual(receivers, [undefined]);
  let calls = 0;
  const fault = new TypeError("not a function");
  const broken = new AskdClient({
    url: "http://hub.test",
    fetch: () => {
      calls += 1;
      throw fault;
    },
  });
  assert.equal(await failure(broken.ask({ questions: [{ question: "?" }] })), fault);
  assert.equal(await failure(broken.events({ after: 0 }).next()), fault);
  assert.equal(calls, 2);
});

test("an_id_without_data_moves_the_cursor_and_a_told_trim_is_not_told_again", async () => {
  const asked: (string | null)[] = [];
  const streams = [
    'event: log.trimmed\ndata: {"type":"log.trimmed","after":2,"through":5}\n\nid: 6\nevent: question.updated\ndata: {"seq":6,"type":"question.updated"}\n\n',
    'event: log.trimmed\ndata: {"type":"log.trimmed","after":6,"through":5}\n\nid: 6\ndata: {"seq":6,"type":"question.updated"}\n\nid: 40\n\n',
    'id: 41\ndata: {"seq":41,"type":"question.updated"}\n\n',
  ];
  const client = clientOf((url) => {
    asked.push(url.searchParams.get("after"));
    return new Response(streams.shift(), { headers: { "content-type": "text/event-stream" } });
  });
  const seen: unknown[] = [];
  for await (const event of client.events({ after: 2 }))
    if (seen.push("seq" in event ? event.seq : event.type) === 3) break;
  assert.deepEqual(seen, ["log.trimmed", 6, 41]);
  assert.deepEqual(asked, ["2", "6", "40"]);
});

test("a_hub_that_falls_silent_counts_as_lost", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const aborted: string[] = [];
  let opened = 0;
  const never = (signal: AbortSignal | null | undefined, name: string) =>
    new Promise<never>((_, reject) =>
      signal?.addEventListener("abort", () => {
        aborted.push(name);
        reject(signal.reason as Error);
      }),
    );
  const client = clientOf((url, init) => {
    opened += 1;
    if (url.pathname !== "/v1/events") return never(init.signal, "request");
    const body = new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode(": connected\n\n")),
    });
    init.signal?.addEventListener("abort", () => aborted.push("stream"));
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  });
  const settle = async () => {
    for (let i = 0; i < 20; i += 1) await new Promise((resolve) => setImmediate(resolve));
  };

  const request = failure(client.health());
  await settle();
  t.mock.timers.tick(31_000);
  assert.ok((await request) instanceof ConnectionError);

  const lost: unknown[] = [];
  const controller = new AbortController();
  const reading = client
    .events({
      after: 0,
      signal: controller.signal,
      onConnection: (state, error) => state === "lost" && lost.push(error),
    })
    .next();
  await settle();
  t.mock.timers.tick(36_000);
  await settle();
  assert.ok(lost[0] instanceof ConnectionError);
  t.mock.timers.tick(6_000);
  await settle();
  assert.equal(opened, 3, "it has connected again");
  assert.deepEqual(aborted, ["request", "stream"]);
  controller.abort();
  await reading;
});

test("every_wait_is_longer_than_the_one_before_up_to_a_limit", async (t) => {
  const waits: number[] = [];
  const real = globalThis.setTimeout;
  t.mock.method(globalThis, "setTimeout", (work: () => void, ms: number) => {
    if (ms <= 5_000) waits.push(ms);
    return real(work, ms <= 5_000 ? 0 : ms);
  });
  const down = clientOf(() => {
    throw new TypeError("fetch failed");
  });
  const controller = new AbortController();
  const onConnection = () => waits.length >= 12 && controller.abort();
  for await (const event of down.events({ after: 0, signal: controller.signal, onConnection })) assert.fail(event.type);
  waits.forEach((wait, i) => {
    const ceiling = Math.min(5_000, 100 * 2 ** i);
    assert.ok(wait >= ceiling / 2 && wait <= ceiling, `${i}: ${wait}`);
  });
});
