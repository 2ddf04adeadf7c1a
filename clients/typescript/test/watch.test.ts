import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Dibs, DibsError } from "../src/index.js";
import { messages } from "../src/watch.js";
import { CuttingProxy, fresh, TestServer } from "./harness.js";

const real = await new TestServer().start();
after(() => real.stop());
const dibs = new Dibs(real.url);

test("a watch misses nothing, although its connection is cut and its server killed", async () => {
  const proxy = await new CuttingProxy(real).start();
  const end = new AbortController();
  const namespace = fresh("watched").replaceAll("-", "");
  const seen: string[] = [];
  const watching = (async () => {
    for await (const event of new Dibs(proxy.url).watch({ namespace, signal: end.signal })) {
      seen.push(event.canonical!);
      if (seen.length === 30) return;
    }
  })();
  for (let i = 0; i < 30; i++) {
    await dibs.reserve({ namespace, value: `v${i}` });
    if (i % 7 === 3) proxy.sever();
    if (i === 15) {
      await real.kill();
      await real.start();
    }
  }
  await watching;
  assert.deepEqual(seen, Array.from({ length: 30 }, (_, i) => `v${i}`));
});

test("from now on", async () => {
  const namespace = fresh("later").replaceAll("-", "");
  await dibs.reserve({ namespace, value: "before" });
  const end = new AbortController();
  let taken = (): void => undefined;
  const cursor = new Promise<void>((resolve) => { taken = resolve; });
  const telling: typeof fetch = async (...args) => {
    const answer = await fetch(...args);
    taken(); // the first answer has the cursor
    return answer;
  };
  const events = new Dibs({ url: real.url, fetch: telling }).watch({ namespace, after: "latest", signal: end.signal });
  const next = events.next();
  await cursor;
  await dibs.reserve({ namespace, value: "after" });
  assert.equal((await next).value!.canonical, "after");
  end.abort();
  assert.equal((await events.next()).done, true);
});

test("a wrong cursor is an error, not an endless loop", async () => {
  await assert.rejects(dibs.watch({ after: "nowhere" }).next(), (error) => error instanceof DibsError && error.code === "INVALID_CURSOR");
});

test("messages in pieces", async () => {
  const text = "id: 1\r\nevent: reserved\r\ndata: {\"a\":\r\ndata: \"ü\"}\r\n\r\n: alive\n\nid: 2\n\ndata: x\rid: 3\r\rdata: not finished";
  const bytes = new TextEncoder().encode(text);
  for (let size = 1; size <= bytes.length; size++) {
    const pieces = new ReadableStream<Uint8Array>({
      start(controller) {
        for (let i = 0; i < bytes.length; i += size) controller.enqueue(bytes.slice(i, i + size));
        controller.close();
      },
    });
    const found = [];
    for await (const message of messages(pieces, () => undefined)) found.push(message);
    assert.deepEqual(found, [{ id: "1", data: '{"a":\n"ü"}' }, { id: "2", data: "" }, { id: "3", data: "x" }], `pieces of ${size}`);
  }
});

test("an error of a gateway in JSON does not end a watch", async () => {
  const namespace = fresh().replaceAll("-", "");
  await new Dibs(real.url).reserve({ namespace, value: "a" });
  let calls = 0;
  const dibs = new Dibs({
    url: real.url,
    fetch: async (url, init) => (calls++ < 2 ? new Response('{"message": "Bad gateway"}', { status: 502, headers: { "content-type": "application/json" } }) : fetch(url, init)),
  });
  for await (const event of dibs.watch({ namespace })) {
    assert.equal(event.canonical, "a");
    break;
  }
  const page = new Dibs({ url: real.url, fetch: async () => new Response("<html>", { headers: { "content-type": "text/html" } }) });
  await assert.rejects(async () => { for await (const event of page.watch({})) assert.fail(String(event)); }, /not one of a registry/);
});
