import assert from "node:assert/strict";
import { test } from "node:test";
import { Dibs, DibsError, HoldError, Unsure, type Owner } from "../src/index.js";
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
  const name = await dibs.hold({ namespace: "slug", value, ttlMs: 6000 }, async (hold, signal) => {
    while ((await dibs.reservation(hold.reservationId))!.expiresAt === hold.expiresAt) await new Promise((resolve) => setTimeout(resolve, 50));
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

/** A client whose key has no right to extend. */
function withoutExtend(): Dibs {
  const forbidden = { type: "urn:dibs:problem:forbidden", title: "Forbidden", status: 403, code: "FORBIDDEN", detail: 'this caller lacks the right "extend" in slug' };
  return new Dibs({
    url: real.url,
    fetch: async (url, init) => (String(url).endsWith("/extend") ? new Response(JSON.stringify(forbidden), { status: 403 }) : fetch(url, init)),
  });
}

test("a refused extend ends the signal, and is in the error", async () => {
  const refused = (error: unknown) => error instanceof HoldError && (error.lost as DibsError).code === "FORBIDDEN" && /lacks the right "extend"/.test(error.message);
  const over = (signal: AbortSignal) => new Promise((resolve) => signal.addEventListener("abort", resolve));
  for (const thrown of ["the reason", "an AbortError", "nothing"] as const) {
    const value = fresh();
    await assert.rejects(withoutExtend().hold({ namespace: "slug", value, ttlMs: 3000 }, async (hold, signal) => {
      await over(signal);
      if (thrown === "the reason") throw signal.reason;
      if (thrown === "an AbortError") throw new DOMException("aborted", "AbortError");
      await dibs.release(hold); // as if its time were over
      return { type: "user", id: value };
    }), refused, thrown);
    // The hold had time left, and its entity may have been saved: it is not released.
    if (thrown !== "nothing") assert.ok(((await dibs.history("slug", value)).events ?? []).every((event) => event.kind !== "released"), thrown);
  }
});

test("a function that returns no entity does not lose the name silently", async () => {
  const value = fresh();
  const nothing = (async () => undefined) as unknown as () => Promise<Owner>;
  await assert.rejects(dibs.hold({ namespace: "slug", value }, nothing), (error) => error instanceof HoldError && error.entity === undefined && /returned no entity/.test(error.message));
  assert.equal((await dibs.name("slug", value))!.state, "held");
});

test("several names of one entity, also if the answer to their confirmation is lost", async () => {
  const proxy = await new CuttingProxy(real).start();
  const behind = new Dibs({ url: proxy.url, timeoutMs: 20_000 });
  const value = fresh("team");
  const names = await behind.holdAll([{ namespace: "slug", value, ttlMs: 30_000 }, { namespace: "tenant", value, ttlMs: 30_000 }], async () => {
    proxy.cut = "answers";
    proxy.stopAfter(1);
    return { type: "team", id: value };
  });
  assert.ok(proxy.cuts > 0);
  assert.deepEqual(names.map((n) => n.state), ["active", "active"]);
});
