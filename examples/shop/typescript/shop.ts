/** A web shop: an account has an email, a username and a tenant, which no other account has: docs/signup.md. */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import { Dibs, DibsError, newToken, type Hold, type Owner } from "@calldibs/client";

/** An attempt to sign up. With a payment it is an account. */
interface Attempt {
  session: string;
  email: string;
  username: string;
  tenant: string;
  id: string;
  token: string;
  payment: "" | "paid" | "declined" | "removed";
}

const names = ["email", "username", "tenant"] as const;
const { SHOP_DIBS = "http://localhost:8080", SHOP_DATA = "shop.jsonl", SHOP_LISTEN = "localhost:8000", SHOP_DECLINES = "20" } = process.env;
const dibs = new Dibs(SHOP_DIBS);

/** The shop's database: a file in which the last line about an attempt counts. */
const attempts = new Map<string, Attempt>();
for (const line of existsSync(SHOP_DATA) ? readFileSync(SHOP_DATA, "utf8").split("\n") : []) if (line) keep(JSON.parse(line) as Attempt);

function keep(attempt: Attempt): void {
  if (attempt.payment === "removed") attempts.delete(attempt.id);
  else attempts.set(attempt.id, attempt);
}

function save(attempt: Attempt): Attempt {
  appendFileSync(SHOP_DATA, JSON.stringify(attempt) + "\n");
  keep(attempt);
  return attempt;
}

/** An answer of the shop itself. */
class Refused extends Error {
  constructor(readonly status: number, message: string) { super(message); }
}

/** Finds in each step what an earlier try has done: the same request again is always right. */
async function signUp(session: string, form: URLSearchParams): Promise<unknown> {
  const [email, username, tenant] = names.map((name) => form.get(name) ?? "") as [string, string, string];
  const old = find(session);
  if (old && (old.payment === "declined" || names.some((name) => old[name] !== (form.get(name) ?? "")))) await giveUp(old);
  // The attempt is saved before the first call: a person who comes back has the same token.
  const attempt = find(session) ?? save({ session, email, username, tenant, id: newToken(), token: newToken(), payment: "" });
  try {
    const holds = await reserve(attempt);
    if (!pay(attempt.id)) {
      await giveUp(attempt);
      throw new Refused(402, "the payment failed, and the names are free again");
    }
    return await dibs.confirmAll(holds, entity(attempt));
  } catch (error) {
    if (!(error instanceof DibsError)) throw error;
    if (error.code === "RESERVATION_ALREADY_CONFIRMED") return; // by an earlier try, whose answer was lost
    const spent = error.code === "RESERVATION_ALREADY_RELEASED" || error.code === "RESERVATION_ALREADY_EXPIRED";
    if (spent && !settle(attempt.id)) return signUp(session, form); // with a new token
    throw error; // the same attempt may still succeed
  }
}

function reserve(attempt: Attempt): Promise<Hold[]> {
  return dibs.reserveAll(names.map((namespace) => ({ namespace, value: attempt[namespace], entity: entity(attempt) })), { token: attempt.token });
}

/** Pays for an attempt, once. A bank would take the attempt's id as its idempotency key. */
function pay(id: string): boolean {
  const attempt = attempts.get(id);
  if (attempt?.payment === "") save({ ...attempt, payment: Math.random() * 100 < Number(SHOP_DECLINES) ? "declined" : "paid" });
  return attempts.get(id)?.payment === "paid";
}

/** Frees the names of an attempt, which then can no longer be paid, and forgets it. */
async function giveUp(attempt: Attempt): Promise<void> {
  if ((attempts.get(attempt.id)?.payment ?? "paid") === "paid") return; // or gone
  save({ ...attempt, payment: "declined" });
  try {
    await dibs.releaseAll(await reserve(attempt));
  } catch (error) {
    const refused = error instanceof DibsError && (error.status === 409 || error.status === 422); // there is no such hold
    if (!refused) throw error; // the next visit tries again: with another token the names would be taken
  }
  settle(attempt.id);
}

/** Removes an attempt that is not paid, so that it never will be, and says whether there is an account. */
function settle(id: string): boolean {
  const attempt = attempts.get(id);
  if (attempt && attempt.payment !== "paid") save({ ...attempt, payment: "removed" });
  return attempts.has(id);
}

function find(session: string): Attempt | undefined {
  return [...attempts.values()].find((attempt) => attempt.session === session);
}

function entity(attempt: Attempt): Owner {
  return { type: "account", id: attempt.id };
}

function account(session: string): Owner {
  const attempt = find(session);
  if (attempt?.payment !== "paid") throw new Refused(401, "sign up first");
  return entity(attempt);
}

interface Answer {
  status: number;
  body?: unknown;
  headers?: Record<string, string>;
}

/** What the browser may know of an error: not that an email is taken. A real shop sends a mail to the person who has it. */
function publicAnswer(error: DibsError): Answer {
  const { status, errors = [] } = error;
  const shown = errors.filter((e) => e.field !== "email" || e.code !== "NAME_TAKEN");
  if (shown.length === errors.length) return { status: status || 503, body: error };
  return shown[0] ? { status, body: { status, code: shown[0].code, errors: shown } } : { status: 202, body: { status: 202, detail: "we have sent you a mail" } };
}

/** The page of an account. Old usernames lead to the present one. */
async function show(username: string): Promise<Answer> {
  const found = await dibs.resolve("username", username);
  if (found.outcome === "moved") return { status: 301, headers: { location: `/u/${encodeURIComponent(found.to)}` } };
  return { status: found.status, body: found.outcome === "active" ? { account: found.entity.id } : {} };
}

const changes: Record<string, (session: string, form: URLSearchParams) => Promise<unknown>> = {
  "POST /signup": signUp,
  "PUT /account": (session, form) => dibs.rename({ namespace: "username", value: form.get("username") ?? "", entity: account(session) }),
  "DELETE /account": (session) => dibs.archive(account(session)),
  "POST /account/restore": (session) => dibs.restore(account(session)),
};

async function answer(request: IncomingMessage): Promise<Answer> {
  const path = decodeURIComponent(request.url ?? "/");
  const body = Buffer.concat(await request.toArray()).toString();
  if (path.startsWith("/u/")) return show(path.slice(3));
  if (path === "/witness") {
    // The registry asks about a hold that is over and was not confirmed.
    const hold = JSON.parse(body) as { entity: Owner };
    return { status: 200, body: settle(hold.entity.id) ? { outcome: "exists", entity: hold.entity } : { outcome: "absent" } };
  }
  const change = changes[`${request.method} ${path}`];
  if (!change) throw new Refused(404, "no such page");
  const session = /\bsession=([^;]+)/.exec(request.headers.cookie ?? "")?.[1];
  if (!session) throw new Refused(400, "the cookie session is missing");
  await change(session, new URLSearchParams(body));
  return { status: 200, body: { account: account(session).id } };
}

createServer(async (request, response) => {
  const { status, body, headers } = await answer(request).catch((error: unknown): Answer => {
    if (error instanceof Refused) return { status: error.status, body: { status: error.status, detail: error.message } };
    return error instanceof DibsError ? publicAnswer(error) : { status: 400, body: { status: 400, detail: `the request is malformed: ${error}` } };
  });
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body ?? {}));
}).listen(Number(SHOP_LISTEN.split(":")[1]), SHOP_LISTEN.split(":")[0], () => console.log(`The shop is at http://${SHOP_LISTEN}`));
