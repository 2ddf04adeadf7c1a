import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { Dibs, DibsError } from "../src/index.js";
import { Operator } from "../src/operator.js";
import { fresh, server } from "./harness.js";

const { url } = await server();
const dibs = new Dibs(url);
const operator = new Operator(url);

test("an operator sees who it is, the server and its policies", async () => {
  const me = await operator.me();
  assert.equal(me.readOnly, false);
  assert.ok(me.grants.some((grant) => grant.verbs.includes("rename") && grant.namespaces.includes("*")));
  const info = await operator.server();
  assert.ok(info.stores.every((store) => store.reads && store.writes));
  const { policies } = await operator.policies();
  assert.equal(policies.find((policy) => policy.namespace === "slug")?.profile, "slug/1");
});

test("webhooks are made, changed and removed, and dead letters listed", async () => {
  const webhook = await operator.createWebhook({ url: "https://example.com/dibs", enabled: false, namespaces: ["slug"] });
  assert.ok(webhook.secret);
  assert.ok((await operator.webhooks()).some(({ id }) => id === webhook.id));
  const changed = await operator.changeWebhook(webhook.id, { description: "orders" });
  assert.equal(changed.description, "orders");
  assert.equal((await operator.webhook(webhook.id)).status?.deadLetters, 0);
  assert.deepEqual((await operator.deadLetters(webhook.id)).deadLetters, []);
  assert.equal((await operator.resendDeadLetters(webhook.id)).left, 0);
  await operator.removeWebhook(webhook.id);
  await assert.rejects(operator.webhook(webhook.id), (error) => error instanceof DibsError && error.code === "WEBHOOK_NOT_FOUND");
});

test("paths and bodies of the calls that work on keys and letters", async () => {
  const seen: string[] = [];
  const http = createServer((request, response) => {
    seen.push(`${request.method} ${request.url}`);
    response.setHeader("content-type", "application/json").end(JSON.stringify({ keys: [], names: [], delivered: true }));
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => http.once("listening", resolve));
  const other = new Operator(`http://127.0.0.1:${(http.address() as AddressInfo).port}`);
  await other.keys();
  await other.createKey({ name: "a", grants: [{ verbs: ["read"], namespaces: ["*"] }] });
  await other.revokeKey("a/b");
  await other.resendDeadLetter("wh 1", "dl/1");
  await other.testWebhook("wh");
  await other.endingHolds({ limit: 2, namespace: "slug" });
  await other.search("alice", { limit: 5 });
  http.close();
  assert.deepEqual(seen, [
    "GET /v1/keys", "POST /v1/keys", "DELETE /v1/keys/a%2Fb", "POST /v1/webhooks/wh%201/deadletters/dl%2F1/resend", "POST /v1/webhooks/wh/test",
    "GET /v1/names?endingWithinMs=3600000&limit=2&namespace=slug", "POST /v1/search",
  ]);
});

test("a search finds names and entities, and holds are listed by their end", async () => {
  const value = fresh();
  const hold = await dibs.reserve({ namespace: "slug", value, ttlMs: 60_000, entity: { type: "user", id: value } });
  const { names } = await operator.search(value.toUpperCase());
  assert.deepEqual(names.map((name) => name.reservationId), [hold.reservationId]);
  const ending = await operator.endingHolds({ withinMs: 90_000 });
  assert.ok(ending.some((name) => name.reservationId === hold.reservationId));
  const owner = { type: "user", id: value };
  await dibs.confirm({ reservationId: hold.reservationId, token: hold.token, entity: owner });
  assert.deepEqual((await operator.search(`user/${value}`)).entities.map(({ entity }) => entity), [owner]);
});

test("the names most fought over", async () => {
  const namespace = `${fresh("scope")}.slug`;
  await dibs.claim({ namespace, value: "a", entity: { type: "user", id: "1" } });
  assert.equal((await dibs.tryReserve({ namespace, value: "a" })).ok, false);
  const { names } = await operator.contested({ namespace });
  assert.deepEqual(names.map(({ name, count }) => [name.canonical, count]), [["a", 1]]);
});

test("activity counts what happened", async () => {
  const namespace = `${fresh("scope")}.slug`;
  await dibs.claim({ namespace, value: "a", entity: { type: "user", id: "1" } });
  const { buckets } = await dibs.activity({ namespace });
  assert.equal(buckets.reduce((sum, bucket) => sum + (bucket.events["claimed"] ?? 0), 0), 1);
});

test("API keys are made, listed and revoked", async () => {
  const open = await server();
  const admin = new Operator(open.url);
  const made = await admin.createKey({ name: "admin", grants: [{ verbs: ["all"], namespaces: ["*"] }] });
  assert.match(made.secret, /^dibs_/);
  await assert.rejects(admin.keys(), (error) => error instanceof DibsError && error.code === "UNAUTHORIZED");
  const signedIn = new Operator({ url: open.url, key: made.secret });
  await signedIn.createKey({ name: "acme", grants: [{ verbs: ["read"], namespaces: ["acme.*"] }], expiresAt: new Date(Date.now() + 3_600_000).toISOString() });
  const keys = await signedIn.keys();
  assert.deepEqual(keys.map((key) => [key.name, key.createdBy, key.secret]), [["acme", "admin", undefined], ["admin", undefined, undefined]]);
  await signedIn.revokeKey("acme");
  await assert.rejects(signedIn.revokeKey("admin"), (error) => error instanceof DibsError && error.code === "LAST_KEY");
  await signedIn.revokeKey("admin", { open: true });
});

test("names of another system are imported", async () => {
  const value = fresh();
  const name = { namespace: "slug", value, entity: { type: "user", id: value }, since: "2020-03-01T12:00:00Z" };
  assert.equal((await operator.importNames([name], { dryRun: true }))[0]?.outcome, "imported");
  const [first, second] = await operator.importNames([name, { ...name, entity: { type: "user", id: "other" } }]);
  assert.deepEqual([first?.outcome, first?.name?.createdAt, second?.outcome, second?.refused?.code], ["imported", "2020-03-01T12:00:00.000Z", "refused", "NAME_TAKEN"]);
  assert.equal((await operator.importNames([name]))[0]?.outcome, "unchanged");
});
