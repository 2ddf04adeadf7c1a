import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import { Dibs, DibsError } from "../src/index.js";
import { CuttingProxy, fresh, server, TestServer } from "./harness.js";

const real = await server();

test("lost requests and answers do not lose a hold", async () => {
  const proxy = await new CuttingProxy(real).start();
  const dibs = new Dibs({ url: proxy.url, timeoutMs: 60_000 });
  for (const cut of ["requests", "answers"] as const) {
    const before = proxy.cuts;
    proxy.cut = cut;
    proxy.stopAfter(2);
    const hold = await dibs.reserve({ namespace: "slug", value: fresh() });
    assert.equal(proxy.cuts, before + 2);
    const direct = await new Dibs(real.url).release({ reservationId: hold.reservationId, token: hold.token });
    assert.equal(direct.status, "released");
  }
});

test("a command without a token is not sent twice when its answer is lost", async () => {
  const proxy = await new CuttingProxy(real).start();
  proxy.cut = "answers";
  const dibs = new Dibs({ url: proxy.url, timeoutMs: 60_000 });
  const value = fresh();
  await assert.rejects(dibs.claim({ namespace: "slug", value, entity: { type: "user", id: value } }), (error) => {
    assert.ok(error instanceof DibsError);
    assert.equal(error.code, "OUTCOME_UNKNOWN");
    return true;
  });
  assert.equal(proxy.cuts, 1);
  assert.equal((await new Dibs(real.url).name("slug", value))!.state, "active");
});

test("reads are repeated while a server starts again", async () => {
  const own = await new TestServer().start();
  after(() => own.stop());
  const dibs = new Dibs({ url: own.url, timeoutMs: 60_000 });
  const value = fresh();
  await dibs.claim({ namespace: "slug", value, entity: { type: "user", id: "1" } });
  await own.kill();
  const asked = dibs.resolve("slug", value);
  await own.start();
  assert.equal((await asked).outcome, "active");
});

test("nothing listens", async () => {
  const gone = await new TestServer().start();
  const url = gone.url;
  await gone.stop();
  const dibs = new Dibs({ url, timeoutMs: 2000 });
  const node = !("Deno" in globalThis || "Bun" in globalThis);
  const entity = { type: "user", id: "1" };
  const calls = [dibs.stats(), dibs.resolve("slug", "a"), dibs.reserve({ namespace: "slug", value: "a" }), dibs.claim({ namespace: "slug", value: "a", entity })];
  await Promise.all(calls.map((call) => assert.rejects(call, (error) => {
    assert.ok(error instanceof DibsError);
    assert.equal(error.code, "UNAVAILABLE");
    assert.match(error.detail, node ? /^nothing happened: the server cannot be reached: connect ECONNREFUSED 127\.0\.0\.1:\d+$/ : /^nothing happened: the server cannot be reached: /);
    return true;
  })));
});

test("a read whose answers are lost has changed nothing, a reserve may have", async () => {
  const proxy = await new CuttingProxy(real).start();
  proxy.cut = "answers";
  const dibs = new Dibs({ url: proxy.url, timeoutMs: 2000 });
  const commands = [{ op: "claim" as const, namespace: "slug", value: "a", entity: { type: "user", id: "1" } }];
  const reads = [dibs.resolve("slug", "a"), dibs.check("slug", "a"), dibs.name("slug", "a"), dibs.history("slug", "a"), dibs.apply(commands, { dryRun: true })];
  await Promise.all([
    ...reads.map((read) => assert.rejects(read, (error) => error instanceof DibsError && error.code === "UNAVAILABLE" && error.detail.startsWith("nothing happened: "))),
    assert.rejects(dibs.reserve({ namespace: "slug", value: fresh() }), (error) => error instanceof DibsError && error.code === "OUTCOME_UNKNOWN"),
  ]);
});

test("a call that was sent once stays unknown when the server is gone", async () => {
  let calls = 0;
  const dibs = new Dibs({
    url: real.url, timeoutMs: 2000,
    fetch: async () => { throw new TypeError("fetch failed", { cause: new Error(calls++ ? "connect ECONNREFUSED 127.0.0.1:1" : "read ECONNRESET") }); },
  });
  await assert.rejects(dibs.reserve({ namespace: "slug", value: "a" }), (error) => error instanceof DibsError && error.code === "OUTCOME_UNKNOWN");
  assert.ok(calls > 1);
});

test("a server that is busy is asked again when it says", async () => {
  const asked: number[] = [];
  const busy = { code: "UNAVAILABLE", detail: "the server is overloaded: nothing happened", title: "Unavailable", status: 503, type: "urn:dibs:problem:unavailable" };
  const dibs = new Dibs({
    url: real.url,
    fetch: async (...args) => {
      asked.push(performance.now());
      if (asked.length > 1) return fetch(...args);
      return new Response(JSON.stringify(busy), { status: 503, headers: { "content-type": "application/problem+json", "retry-after": "1" } });
    },
  });
  await dibs.stats();
  assert.equal(asked.length, 2);
  assert.ok(asked[1]! - asked[0]! >= 990, `asked again after ${asked[1]! - asked[0]!} ms`);
});

test("another server answers", async () => {
  const pages = createServer((_, answer) => { answer.setHeader("content-type", "text/html"); answer.end("<h1>hello</h1>"); });
  await new Promise<void>((resolve) => pages.listen(0, "127.0.0.1", resolve));
  after(() => pages.close());
  const dibs = new Dibs(`http://127.0.0.1:${(pages.address() as AddressInfo).port}`);
  await assert.rejects(dibs.stats(), /check the URL/);
});

test("the caller's signal ends a call", async () => {
  const dibs = new Dibs(real.url);
  await assert.rejects(dibs.stats({ signal: AbortSignal.abort(new Error("enough")) }), /enough/);
});

test("a key is sent, and may change", async () => {
  const seen: (string | undefined)[] = [];
  const echo = createServer((request, answer) => { seen.push(request.headers.authorization); answer.setHeader("content-type", "application/json"); answer.end("{}"); });
  await new Promise<void>((resolve) => echo.listen(0, "127.0.0.1", resolve));
  after(() => echo.close());
  const url = `http://127.0.0.1:${(echo.address() as AddressInfo).port}`;
  await new Dibs({ url, key: "secret" }).stats();
  let n = 0;
  const rotating = new Dibs({ url, key: async () => `token-${++n}` });
  await rotating.stats();
  await rotating.stats();
  assert.deepEqual(seen, ["Bearer secret", "Bearer token-1", "Bearer token-2"]);
});

/** A server that gives every request the same answer, and what it was sent. */
function answering(status: number, body: unknown, headers: Record<string, string> = {}) {
  const sent: Record<string, unknown>[] = [];
  const fetch: typeof globalThis.fetch = async (_, init) => {
    sent.push(init?.body ? (JSON.parse(String(init.body)) as Record<string, unknown>) : {});
    return new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json", ...headers } });
  };
  return { sent, fetch };
}

test("a token that is undefined is none", async () => {
  const { sent, fetch } = answering(503, { code: "UNAVAILABLE", detail: "overloaded", status: 503 });
  const dibs = new Dibs({ url: "http://names.invalid", timeoutMs: 2000, fetch });
  const request = { namespace: "slug", value: "ann", token: undefined } as unknown as { namespace: string; value: string };
  await assert.rejects(dibs.reserve(request));
  assert.ok(sent.length > 1);
  assert.match(String(sent[0]!.token), /^[0-9a-f]{40}$/);
  assert.equal(sent[1]!.token, sent[0]!.token);
});

test("an internal error leaves a change unknown", async () => {
  const { sent, fetch } = answering(500, { code: "INTERNAL", detail: "see the log of the server", status: 500 });
  const dibs = new Dibs({ url: "http://names.invalid", timeoutMs: 2000, fetch });
  const codeOf = (call: Promise<unknown>) => call.then(() => "", (error: unknown) => (error as DibsError).code);
  assert.equal(await codeOf(dibs.claim({ namespace: "slug", value: "ann", entity: { type: "user", id: "1" } })), "OUTCOME_UNKNOWN");
  assert.equal(sent.length, 1);
  assert.equal(await codeOf(dibs.reserve({ namespace: "slug", value: "ann" })), "OUTCOME_UNKNOWN");
  assert.ok(sent.length > 2);
  assert.equal(await codeOf(dibs.stats()), "INTERNAL");
});

test("a call that was sent once stays unknown when its repeat is not let in", async () => {
  const refused = { code: "UNAUTHORIZED", detail: "the key was revoked", title: "Unauthorized", status: 401, type: "urn:dibs:problem:unauthorized" };
  let calls = 0;
  const dibs = new Dibs({
    url: real.url, timeoutMs: 2000,
    fetch: async () => {
      if (!calls++) throw new TypeError("fetch failed", { cause: new Error("read ECONNRESET") });
      return new Response(JSON.stringify(refused), { status: 401, headers: { "content-type": "application/problem+json" } });
    },
  });
  await assert.rejects(dibs.reserve({ namespace: "slug", value: "a" }), (error) => error instanceof DibsError && error.code === "OUTCOME_UNKNOWN");
  await assert.rejects(dibs.reserve({ namespace: "slug", value: "a" }), (error) => error instanceof DibsError && error.code === "UNAUTHORIZED");
});

test("a problem of another server", async () => {
  const { fetch } = answering(400, { code: 7, detail: { message: "no" } });
  await assert.rejects(new Dibs({ url: "http://names.invalid", fetch }).stats(), /not one of a registry/);
});

test("an answer that is no result leaves a change unknown, and is not taken for one", async () => {
  const problem = { code: "NAME_TAKEN", detail: "slug:ann is taken", status: 409, outcome: "taken", names: [], items: [] };
  const proxies: [number, unknown, string][] = [[200, problem, "application/problem+json; charset=utf-8"], [200, "hello", "text/html"], [500, "sorry", "text/html"]];
  for (const [status, body, type] of proxies) {
    const { sent, fetch } = answering(status, body, { "content-type": type });
    const dibs = new Dibs({ url: "http://names.invalid", timeoutMs: 300, fetch });
    const codeOf = (call: Promise<unknown>) => call.then((answer) => JSON.stringify(answer), (error: unknown) => (error as DibsError).code);
    assert.equal(await codeOf(dibs.claim({ namespace: "slug", value: "ann", entity: { type: "user", id: "1" } })), "OUTCOME_UNKNOWN");
    assert.equal(await codeOf(dibs.resolve("slug", "ann")), "INTERNAL");
    assert.equal(await codeOf(dibs.stats()), "INTERNAL");
    assert.equal(sent.length, 3);
  }
});

test("a pause longer than the timeout is not begun", async () => {
  const { sent, fetch } = answering(429, { code: "TOO_MANY_REQUESTS", detail: "slow down", status: 429 }, { "retry-after": "3600" });
  const begun = Date.now();
  await assert.rejects(new Dibs({ url: "http://names.invalid", timeoutMs: 60_000, fetch }).stats());
  assert.equal(sent.length, 1);
  assert.ok(Date.now() - begun < 50_000);
});

test("old names are answered without a redirect, which pages cannot read", async () => {
  const statuses: number[] = [];
  const dibs = new Dibs({
    url: real.url,
    fetch: async (url, init) => {
      const response = await fetch(url, init);
      statuses.push(response.status);
      return response;
    },
  });
  const [old, entity] = [fresh(), { type: "user", id: fresh() }];
  await dibs.claim({ namespace: "slug", value: old, entity });
  const present = await dibs.rename({ namespace: "slug", value: fresh(), entity });
  const resolution = await dibs.resolve("slug", old);
  assert.ok(resolution.outcome === "moved");
  assert.deepEqual([resolution.to, statuses.at(-1)], [present.canonical, 200]);
});
