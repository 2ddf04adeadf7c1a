import assert from "node:assert/strict";
import { test } from "node:test";
import { Dibs, DibsError, type Owner } from "../src/index.js";
import { fresh, server } from "./harness.js";

const dibs = new Dibs((await server()).url);
const owner = (id = fresh("user")): Owner => ({ type: "user", id });

test("reserve, extend, confirm, resolve", async () => {
  const value = fresh();
  const hold = await dibs.reserve({ namespace: "slug", value, ttlMs: 60_000, meta: { form: "signup" } });
  assert.equal(hold.status, "reserved");
  assert.equal(hold.state, "held");
  assert.ok(hold.token.length >= 16);
  const longer = await dibs.extend({ reservationId: hold.reservationId, token: hold.token, ttlMs: 120_000 });
  assert.ok(longer.remainingMs! > 60_000);
  const entity = owner();
  const name = await dibs.confirm({ reservationId: hold.reservationId, token: hold.token, entity });
  assert.deepEqual([name.status, name.state, name.entity, name.version], ["confirmed", "active", entity, 1]);
  const found = await dibs.resolve("slug", value);
  assert.equal(found.outcome, "active");
  if (found.outcome === "active") assert.deepEqual(found.entity, entity);
});

test("the same token again is the same hold", async () => {
  const request = { namespace: "slug", value: fresh(), token: "a-secret-of-0123456789" };
  const first = await dibs.reserve(request);
  const second = await dibs.reserve(request);
  assert.equal(second.reservationId, first.reservationId);
  assert.deepEqual([first.replayed, second.replayed], [false, true]);
});

test("a taken name says why, and what is free", async () => {
  const value = fresh();
  await dibs.reserve({ namespace: "slug", value });
  await assert.rejects(dibs.reserve({ namespace: "slug", value }), (error) => {
    assert.ok(error instanceof DibsError);
    assert.equal(error.code, "NAME_TAKEN");
    if (error.code !== "NAME_TAKEN") return false;
    assert.equal(error.reason, "held");
    assert.equal(error.status, 409);
    assert.ok(error.suggestions!.length > 0);
    assert.match(error.message, /already reserved/);
    return true;
  });
  const attempt = await dibs.tryReserve({ namespace: "slug", value });
  assert.equal(attempt.ok, false);
  if (!attempt.ok) assert.equal(attempt.taken.reason, "held");
  const other = await dibs.tryReserve({ namespace: "slug", value: fresh() });
  assert.equal(other.ok, true);
});

test("refusals have their codes", async () => {
  const hold = await dibs.reserve({ namespace: "slug", value: fresh() });
  const entity = owner();
  const refusals: [string, () => Promise<unknown>][] = [
    ["INVALID_VALUE", () => dibs.reserve({ namespace: "email", value: "not an email" })],
    ["INVALID_NAMESPACE", () => dibs.reserve({ namespace: "no namespace", value: "a" })],
    ["INVALID_TTL", () => dibs.reserve({ namespace: "slug", value: fresh(), ttlMs: 0 })],
    ["INVALID_TOKEN", () => dibs.reserve({ namespace: "slug", value: fresh(), token: "short" })],
    ["RESERVATION_LOST", () => dibs.confirm({ reservationId: hold.reservationId, token: "another-0123456789", entity })],
    ["RESERVATION_NOT_FOUND", () => dibs.release({ reservationId: "res_aaaaaaaaaaaaaaaaaaaaaaaaaa", token: hold.token })],
    ["NOT_OWNER", async () => {
      const name = await dibs.claim({ namespace: "slug", value: fresh(), entity });
      await dibs.decommission({ namespace: "slug", value: name.canonical, entity: owner() });
    }],
    ["ENTITY_HAS_NAME", () => dibs.claim({ namespace: "slug", value: fresh(), entity })],
    ["VERSION_MISMATCH", () => dibs.rename({ namespace: "slug", value: fresh(), entity, ifVersion: 7 })],
    ["INVALID_REQUEST", () => dibs.reserve({ namespace: "slug" } as never)],
    ["INVALID_CURSOR", () => dibs.events({ after: "nowhere" })],
  ];
  for (const [code, call] of refusals) {
    await assert.rejects(call, (error) => error instanceof DibsError && (assert.equal(error.code, code), true));
  }
  await assert.rejects(dibs.reserve({ namespace: "email", value: "not an email" }), (error) => {
    assert.ok(error instanceof DibsError && error.code === "INVALID_VALUE");
    assert.ok(error.refusal!.problem);
    return true;
  });
});

test("several names, all or none", async () => {
  const value = fresh("team");
  const holds = await dibs.reserveAll([{ namespace: "slug", value }, { namespace: "username", value: value.replaceAll("-", "") }]);
  assert.equal(holds.length, 2);
  assert.equal(holds[0]!.token, holds[1]!.token);
  await assert.rejects(dibs.reserveAll([{ namespace: "slug", value: fresh() }, { namespace: "slug", value }]), (error) => {
    assert.ok(error instanceof DibsError);
    assert.deepEqual([error.code, error.errors?.[0]?.index], ["NAME_TAKEN", 1]);
    return true;
  });
  const first = await dibs.reserveFirst({ namespace: "slug", values: [value, `${value}-2`] });
  assert.equal(first.canonical, `${value}-2`);
});

test("several names: confirm or release all of them, again and again", async () => {
  const reserve = (value: string) => dibs.reserveAll([{ namespace: "slug", value }, { namespace: "tenant", value }], { token: `token-of-${value}` });
  const [kept, given] = [fresh("kept"), fresh("given")];
  const entity = owner();
  const holds = await reserve(kept);
  const proofs = holds.map(({ reservationId, token }) => ({ reservationId, token })); // what a program keeps
  for (let i = 0; i < 2; i++) {
    const names = await dibs.confirmAll(proofs, entity);
    assert.deepEqual(names.map((n) => [n.namespace, n.state, n.entity]), [["slug", "active", entity], ["tenant", "active", entity]]);
  }
  await assert.rejects(reserve(kept), (error) => error instanceof DibsError && error.code === "RESERVATION_ALREADY_CONFIRMED");
  await assert.rejects(dibs.releaseAll(holds), (error) => error instanceof DibsError && error.code === "RESERVATION_ALREADY_CONFIRMED");
  const others = await reserve(given);
  for (let i = 0; i < 2; i++) assert.deepEqual((await dibs.releaseAll(others)).map((n) => n.state), ["free", "free"]);
  await assert.rejects(dibs.confirmAll(others, entity), (error) => {
    assert.ok(error instanceof DibsError);
    assert.deepEqual([error.code, error.errors!.map((e) => e.index)], ["RESERVATION_ALREADY_RELEASED", [0, 1]]);
    return true;
  });
});

test("a problem can be passed on", async () => {
  const value = fresh();
  await dibs.reserve({ namespace: "slug", value });
  await assert.rejects(dibs.reserve({ namespace: "slug", value, field: "url" }), (error) => {
    const problem = JSON.parse(JSON.stringify(error)) as Record<string, unknown>;
    assert.deepEqual([problem.type, problem.status, problem.code, problem.field, problem.error], ["urn:dibs:problem:name-taken", 409, "NAME_TAKEN", "url", "slug_taken"]);
    return "name" in problem === false;
  });
});

test("rename one of several names", async () => {
  const entity = owner();
  const [old, present] = [fresh(), fresh()];
  await dibs.claim({ namespace: "slug", value: old, entity });
  await assert.rejects(dibs.rename({ namespace: "slug", value: present, entity, from: fresh() }), (error) => error instanceof DibsError && error.code === "NOT_OWNER");
  assert.equal((await dibs.rename({ namespace: "slug", value: present, entity, from: old })).canonical, present);
});

test("rename, and where old names lead", async () => {
  const entity = owner();
  const [old, present] = [fresh(), fresh()];
  await dibs.claim({ namespace: "slug", value: old, entity });
  const renamed = await dibs.rename({ namespace: "slug", value: present, entity, ifVersion: 1 });
  assert.equal(renamed.canonical, present);
  const moved = await dibs.resolve("slug", old);
  assert.deepEqual([moved.outcome, moved.outcome === "moved" && moved.to], ["moved", present]);
  assert.equal((await dibs.resolve("slug", fresh())).outcome, "not_found");
  const info = await dibs.entity(entity);
  assert.equal(info!.version, 2);
  assert.deepEqual(info!.names.map((n) => n.state).sort(), ["active", "alias"]);
});

test("transfer, swap, decommission, archive, restore, delete", async () => {
  const [a, b] = [owner(), owner()];
  const [va, vb] = [fresh(), fresh()];
  await dibs.claim({ namespace: "slug", value: va, entity: a });
  await dibs.claim({ namespace: "slug", value: vb, entity: b });
  await dibs.swap({ namespace: "slug", a: { value: va, entity: a }, b: { value: vb, entity: b } });
  assert.deepEqual((await dibs.name("slug", va))!.entity, b);
  const c = owner();
  assert.deepEqual((await dibs.transfer({ namespace: "slug", value: va, from: b, to: c })).entity, c);
  await dibs.archive(c);
  assert.equal((await dibs.entity(c))!.archived, true);
  await dibs.restore(c);
  assert.equal((await dibs.decommission({ namespace: "slug", value: va, entity: c })).state, "free");
  const deleted = await dibs.delete(a);
  assert.deepEqual([...(deleted.quarantined ?? []), ...(deleted.freed ?? [])], [`slug:${vb}`]);
  assert.notEqual((await dibs.resolve("slug", vb)).outcome, "active");
});

test("apply, and what it would do", async () => {
  const value = fresh();
  const entity = owner();
  const dry = await dibs.apply([{ op: "claim", namespace: "slug", value, entity }], { dryRun: true });
  assert.equal(dry.results[0]!.names[0]!.state, "active");
  assert.equal((await dibs.check("slug", value)).available, true);
  await dibs.apply([{ op: "claim", namespace: "slug", value, entity }]);
  const taken = await dibs.check("slug", value, { suggest: 2 });
  assert.equal(taken.available, false);
  if (!taken.available) assert.deepEqual([taken.reason, taken.suggestions!.length], ["in_use", 2]);
});

test("lists, history, events, counts", async () => {
  const entity = owner();
  const value = fresh("story");
  const hold = await dibs.reserve({ namespace: "slug", value, correlationId: "corr-1" });
  await dibs.confirm({ reservationId: hold.reservationId, token: hold.token, entity });
  const page = await dibs.list({ namespace: "slug", prefix: value, state: "active" });
  assert.deepEqual(page.names.map((n) => n.canonical), [value]);
  const history = await dibs.history("slug", value);
  assert.deepEqual(history.events!.map((e) => e.kind), ["reserved", "confirmed"]);
  const holder = await dibs.whoHeld("slug", value, new Date());
  assert.deepEqual([holder.state, holder.entity], ["active", entity]);
  const events = await dibs.events({ namespace: "slug", limit: 5 });
  assert.ok(events.events.length > 0 && events.nextCursor);
  const stats = await dibs.stats();
  assert.ok(stats.names.some((n) => n.namespace === "slug" && n.count > 0));
  assert.ok((await dibs.conflicts({ namespace: "slug" })).buckets);
  assert.equal(await dibs.name("slug", fresh()), undefined);
  assert.equal(await dibs.reservation("res_aaaaaaaaaaaaaaaaaaaaaaaaaa"), undefined);
  assert.equal(await dibs.entity(owner()), undefined);
  assert.equal((await dibs.reservation(hold.reservationId))!.canonical, value);
});

test("odd values arrive as they are", async () => {
  for (const value of ["a/b?c=d#e%20", "héllo wörld", "😀", "...", "a b+c&d"]) {
    const entity = owner(value);
    await dibs.claim({ namespace: fresh("raw").replaceAll("-", ""), value, entity });
    assert.deepEqual((await dibs.entity(entity))!.entity, entity);
  }
  // URLs have no such parts: fetch would leave them out, and ask for something else.
  await assert.rejects(dibs.entity(owner("..")), /use apply/);
});

test("a hold is accepted where its proof is", async () => {
  const hold = await dibs.reserve({ namespace: "slug", value: fresh(), ttlMs: 60_000 });
  assert.ok((await dibs.extend({ ...hold, ttlMs: 120_000 })).remainingMs! > 60_000);
  assert.equal((await dibs.release(hold)).status, "released");
  const other = await dibs.reserve({ namespace: "slug", value: fresh() });
  assert.equal((await dibs.confirm({ ...other, entity: { type: "user", id: other.canonical } })).state, "active");
});
