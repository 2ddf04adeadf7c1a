import assert from "node:assert/strict";
import { test } from "node:test";
import { Dibs, HoldError, Unsure } from "../src/index.js";
import { CuttingProxy, fresh, server } from "./harness.js";

const real = await server();
const dibs = new Dibs(real.url);

test("the entity that the function returns owns the name", async () => {
  const value = fresh();
  const name = await dibs.hold({ namespace: "slug", value }, async (hold) => {
    assert.equal((await dibs.name("slug", value))!.state, "held");
    return { type: "order", id: hold.canonical };
  });
  assert.deepEqual([name.state, name.entity], ["active", { type: "order", id: value }]);
});

test("a failed payment frees the name at once", async () => {
  const value = fresh();
  await assert.rejects(dibs.hold({ namespace: "slug", value }, async () => { throw new Error("declined"); }), /declined/);
  assert.equal((await dibs.check("slug", value)).available, true);
});

test("the refusal of one name does not count", async () => {
  const value = fresh();
  await dibs.claim({ namespace: "slug", value, entity: { type: "user", id: value } });
  await assert.rejects(dibs.holdAll([{ namespace: "slug", value }], async () => ({ type: "user", id: "2" })), (error: Error) => {
    assert.match(error.message, /^NAME_TAKEN: /);
    assert.doesNotMatch(error.message, /1 of 1|number 1/);
    return true;
  });
});

test("an unsure function leaves the hold", async () => {
  const value = fresh();
  await assert.rejects(dibs.hold({ namespace: "slug", value }, async () => { throw new Unsure("no answer from the bank"); }), (error) => {
    assert.ok(error instanceof HoldError);
    assert.equal(error.entity, undefined);
    assert.equal(error.holds[0]!.canonical, value);
    return true;
  });
  assert.equal((await dibs.name("slug", value))!.state, "held");
});

test("a hold lasts as long as its function", async () => {
  const value = fresh();
  const name = await dibs.hold({ namespace: "slug", value, ttlMs: 5000 }, async (_, signal) => {
    const ends = new Set<string | undefined>();
    while (ends.size < 3) { // it is extended, and extended again
      ends.add((await dibs.name("slug", value))!.expiresAt);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    assert.equal(signal.aborted, false);
    return { type: "user", id: value };
  });
  assert.equal(name.state, "active");
});

test("the function is told that its hold is lost", async () => {
  const value = fresh();
  await assert.rejects(dibs.hold({ namespace: "slug", value, ttlMs: 1000 }, (hold, signal) => new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(new Error("told")));
    void dibs.release({ reservationId: hold.reservationId, token: hold.token });
  })), /told/);
});

test("several names of one entity, also if the answer to their confirmation is lost", async () => {
  const proxy = await new CuttingProxy(real).start();
  const behind = new Dibs({ url: proxy.url, timeoutMs: 60_000 });
  const value = fresh("team");
  const names = await behind.holdAll([{ namespace: "slug", value, ttlMs: 30_000 }, { namespace: "tenant", value, ttlMs: 30_000 }], async () => {
    proxy.cutOne("answers");
    return { type: "team", id: value };
  });
  assert.ok(proxy.cuts > 0);
  assert.deepEqual(names.map((n) => n.state), ["active", "active"]);
});
