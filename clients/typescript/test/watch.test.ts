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
  const events = dibs.watch({ namespace, after: "latest", signal: end.signal });
  let seen = false;
  const next = events.next().finally(() => { seen = true; });
  for (let i = 0; !seen; i++) { // when the watch takes its cursor is not known
    await dibs.reserve({ namespace, value: `after-${i}` });
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.match((await next).value!.canonical!, /^after-/);
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
