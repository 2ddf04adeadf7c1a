import { DibsError, type NameTaken } from "./errors.js";
import { whileHeld } from "./hold.js";
import { Http, type Call, type CallOptions, type Options } from "./http.js";
import { watch, type WatchOptions } from "./watch.js";
import type * as api from "./schema.js";

/** An entity of your own that owns names, such as `{ type: "user", id: "42" }`. */
export type Owner = api.Entity;

/** A name as the registry has it. */
export type Name = api.Name;

/** A name that is held, with the token that proves it. Keep the token: the registry does not store it. */
export type Hold = api.Name & { token: string };

/** What proves a hold. A {@link Hold} does; these two texts are all that a program has to keep of it. */
export type Proof = Pick<Hold, "reservationId" | "token">;

/** What to reserve. */
export type ReserveRequest = Omit<api.Reserve, "$schema">;

/** What to reserve, with a token of your own: 16 to 128 visible ASCII characters, random and secret. */
export type WithToken = { token?: string };

/** A command of a list. */
export type Command = Omit<api.Command, "$schema">;

/** Where a name leads. */
export type Resolution =
  | { outcome: "active"; canonical: string; entity: Owner; status: number; until?: string }
  | { outcome: "moved"; canonical: string; entity: Owner; to: string; active?: Name; status: number; until?: string }
  | { outcome: "gone"; canonical?: string; status: number; until?: string }
  | { outcome: "not_found"; canonical?: string; status: number };

/** Whether a value could be reserved. */
export type Availability =
  | { available: true; value: string; canonical: string }
  | { available: false; value: string; canonical?: string; reason: api.Reason; detail?: string; until?: string; suggestions?: string[]; refusal?: api.Refusal };

/** The result of {@link Dibs.tryReserve}. */
export type Attempt = { ok: true; hold: Hold } | { ok: false; taken: NameTaken & DibsError };

/** Names by namespace, state or the beginning of their canonical form. */
export interface ListOptions extends CallOptions {
  namespace?: string;
  state?: api.State;
  prefix?: string;
  /** How many a page has, at most 1,000. */
  limit?: number;
  cursor?: string;
}

const post = (path: string, body: unknown, repeatable: Call["repeatable"], options?: CallOptions): Call => ({ method: "POST", path, body, repeatable, ...options });

/** A part of a path. fetch would resolve dots as in a file system, also encoded ones. */
function part(text: string): string {
  if (text === "." || text === "..") throw new TypeError(`a path cannot contain ${text}: use apply`);
  return encodeURIComponent(text);
}

/**
 * A client of a Dibs server.
 *
 * Every method throws a {@link DibsError} if it does not succeed. Calls that are safe to repeat are repeated while the server
 * cannot be reached, until `timeoutMs` is over: those that read, those with a token, and those that were never sent.
 * A reserve without a token gets one before it is sent.
 */
export class Dibs {
  readonly #http: Http;

  constructor(options: Options | string) {
    this.#http = new Http(typeof options === "string" ? { url: options } : options);
  }

  /** Holds a name for a limited time. */
  async reserve(request: ReserveRequest & WithToken, options?: CallOptions): Promise<Hold> {
    return this.#http.call(post("/v1/reservations", withToken(request), true, options));
  }

  /** The same, but a taken name is a result and not an error. */
  async tryReserve(request: ReserveRequest & WithToken, options?: CallOptions): Promise<Attempt> {
    try {
      return { ok: true, hold: await this.reserve(request, options) };
    } catch (error) {
      if (error instanceof DibsError && error.code === "NAME_TAKEN") return { ok: false, taken: error };
      throw error;
    }
  }

  /** Holds several names with one token, all of them or none. */
  async reserveAll(reservations: ReserveRequest[], options?: CallOptions & WithToken): Promise<Hold[]> {
    const { token = newToken(), ...rest } = options ?? {};
    const answer = await this.#http.call<{ reservations: Hold[] }>(post("/v1/reservations/batch", { reservations, token }, true, rest));
    return answer.reservations;
  }

  /** Holds the first of several candidates that is available. */
  async reserveFirst(request: Omit<ReserveRequest, "value"> & { values: string[] } & WithToken, options?: CallOptions): Promise<Hold> {
    return this.#http.call(post("/v1/reservations/first", withToken(request), true, options));
  }

  /** Moves the end of a hold. */
  async extend(request: { reservationId: string; token: string; ttlMs?: number }, options?: CallOptions): Promise<Name> {
    return this.#onReservation(request.reservationId, "extend", { token: request.token, ttlMs: request.ttlMs }, true, options);
  }

  /** Makes a held name the name of an entity. */
  async confirm(request: { reservationId: string; token: string; entity: Owner; replace?: boolean; replaces?: string }, options?: CallOptions): Promise<Name> {
    const { reservationId, token, entity, replace, replaces } = request;
    return this.#onReservation(reservationId, "confirm", { token, entity, replace, replaces }, true, options);
  }

  /** Ends a hold. */
  async release(request: { reservationId: string; token: string }, options?: CallOptions): Promise<Name> {
    return this.#onReservation(request.reservationId, "release", { token: request.token }, true, options);
  }

  /** Makes the names that {@link reserveAll} held the names of an entity, all of them or none. It is safe to repeat. */
  async confirmAll(holds: Proof[], entity: Owner, options?: CallOptions): Promise<Name[]> {
    return this.#applyAll("confirm", holds, { entity }, options);
  }

  /** Ends the holds of {@link reserveAll}, all of them or none. If one is over already, the others end by themselves. */
  async releaseAll(holds: Proof[], options?: CallOptions): Promise<Name[]> {
    return this.#applyAll("release", holds, {}, options);
  }

  async #applyAll(op: "confirm" | "release", holds: Proof[], rest: Partial<Command>, options?: CallOptions): Promise<Name[]> {
    const { results } = await this.apply(holds.map(({ reservationId, token }) => ({ op, reservationId, token, ...rest })), options);
    return results.map((result) => result.names[0]!);
  }

  /** Ends a suspect: the operator knows whether its entity exists. */
  async settle(request: { reservationId: string; outcome: "exists" | "absent"; entity?: Owner }, options?: CallOptions): Promise<Name> {
    return this.#onReservation(request.reservationId, "settle", { outcome: request.outcome, entity: request.entity }, false, options);
  }

  /** The body is made member by member: a whole {@link Hold} is accepted as a request, and the server refuses what it does not know. */
  #onReservation(reservationId: string, verb: string, body: object, repeatable: boolean, options?: CallOptions): Promise<Name> {
    return this.#http.call(post(`/v1/reservations/${part(reservationId)}/${verb}`, body, repeatable, options));
  }

  /**
   * Holds a name while `fn` runs, and confirms it for the entity that `fn` returns. If `fn` throws, the hold is released;
   * if it throws {@link Unsure} or an AbortError, the hold stays, and so it does if the confirmation fails: see {@link HoldError}.
   * The hold is extended while `fn` runs, for which the key needs the right `extend`. The signal tells `fn` if the hold is lost;
   * its reason, such as `FORBIDDEN`, says why. If `fn` throws that reason, as `fetch` does, the hold stays as well.
   */
  async hold(request: ReserveRequest & WithToken, fn: (hold: Hold, signal: AbortSignal) => Promise<Owner>): Promise<Name> {
    const hold = await this.reserve(request);
    const [name] = await whileHeld(this, [request], [hold], (signal) => fn(hold, signal));
    return name!;
  }

  /** The same for several names of one entity, all of them or none. */
  async holdAll(requests: ReserveRequest[], fn: (holds: Hold[], signal: AbortSignal) => Promise<Owner>, options?: WithToken): Promise<Name[]> {
    const holds = await this.reserveAll(requests, options);
    return whileHeld(this, requests, holds, (signal) => fn(holds, signal));
  }

  /** Takes a free name for an entity at once. */
  async claim(request: { namespace: string; value: string; entity: Owner; overrideReserved?: boolean }, options?: CallOptions): Promise<Name> {
    return this.#http.call(post("/v1/claims", request, false, options));
  }

  /** Gives an entity another name, or its first; the old one leads to the new one. `ifVersion` refuses a stale change. */
  async rename(request: { namespace: string; value: string; entity: Owner; token?: string; from?: string; scope?: string; ifVersion?: number }, options?: CallOptions): Promise<Name> {
    const { entity, namespace, scope, ifVersion, from: replaces, ...body } = request;
    return this.#http.call({
      ...options, method: "PUT", path: `${entityPath(entity)}/names/${part(namespace)}`, query: { scope }, body: { ...body, replaces }, repeatable: false,
      ...(ifVersion === undefined ? {} : { headers: { "if-match": `"${ifVersion}"` } }),
    });
  }

  /** Gives one name of an entity to another. */
  async transfer(request: { namespace: string; value: string; from: Owner; to: Owner }, options?: CallOptions): Promise<Name> {
    const { namespace, value, ...body } = request;
    return this.#http.call(post(`${namePath(namespace, value)}/transfer`, body, false, options));
  }

  /** Lets two entities exchange their names; the owners are those before it. */
  async swap(request: { namespace: string; a: { value: string; entity: Owner }; b: { value: string; entity: Owner } }, options?: CallOptions): Promise<api.Result> {
    return this.#http.call(post("/v1/swap", request, false, options));
  }

  /** Gives up one name of an entity. */
  async decommission(request: { namespace: string; value: string; entity: Owner }, options?: CallOptions): Promise<Name> {
    const { namespace, value, ...body } = request;
    return this.#http.call(post(`${namePath(namespace, value)}/decommission`, body, false, options));
  }

  /** Keeps every name of an entity, and resolves none. */
  async archive(entity: Owner, options?: CallOptions & { scope?: string }): Promise<api.EntityState> {
    return this.#onEntity("POST", "/archive", entity, options);
  }

  /** Undoes an archive. */
  async restore(entity: Owner, options?: CallOptions & { scope?: string }): Promise<api.EntityState> {
    return this.#onEntity("POST", "/restore", entity, options);
  }

  /** Gives up every name of an entity. */
  async delete(entity: Owner, options?: CallOptions & { scope?: string }): Promise<api.Deleted> {
    return this.#onEntity("DELETE", "", entity, options);
  }

  #onEntity<T>(method: string, verb: string, entity: Owner, options?: CallOptions & { scope?: string }): Promise<T> {
    const { scope, ...rest } = options ?? {};
    return this.#http.call({ ...rest, method, path: entityPath(entity) + verb, query: { scope }, repeatable: method === "GET" });
  }

  /** Applies up to 32 commands, all of them or none. With `dryRun` it only says what would happen. */
  async apply(commands: Command[], options?: CallOptions & { dryRun?: boolean }): Promise<api.Applied> {
    const { dryRun = false, ...rest } = options ?? {};
    const fenced = new Set(["reserve", "reserveAll", "reserveFirst", "extend", "confirm", "release"]);
    const sent = commands.map((c) => (c.op.startsWith("reserve") ? withToken(c) : c));
    return this.#http.call(post("/v1/apply", { dryRun, commands: sent }, dryRun ? "reads" : sent.every((c) => fenced.has(c.op)), rest));
  }

  /** Says whether a value could be reserved. It is a snapshot, not a promise: to get a name, reserve it. */
  async check(namespace: string, value: string, options?: CallOptions & { suggest?: number }): Promise<Availability> {
    const [result] = await this.checkAll(namespace, [value], options);
    return result!;
  }

  /** The same for up to 100 values. */
  async checkAll(namespace: string, values: string[], options?: CallOptions & { suggest?: number; parts?: string[]; entity?: Owner }): Promise<Availability[]> {
    return (await this.#ask<{ results: Availability[] }>("/v1/check", { namespace, values }, options)).results;
  }

  /** Says where a name leads: to an entity, to its present name, or nowhere. */
  async resolve(namespace: string, value: string, options?: CallOptions): Promise<Resolution> {
    // Pages in a browser cannot read the answer of a redirect. Older servers redirect nevertheless.
    const headers = { "dibs-redirect": "no" };
    return this.#http.call({ ...post("/v1/resolve", { namespace, value }, "reads", options), headers, answers: [307, 308, 404, 410] });
  }

  /** Shows a name, or nothing if there is none. */
  async name(namespace: string, value: string, options?: CallOptions): Promise<Name | undefined> {
    return orNothing(this.#ask<Name>("/v1/names/lookup", { namespace, value }, options));
  }

  /** Shows a reservation, without its token, or nothing if there is none. */
  async reservation(reservationId: string, options?: CallOptions): Promise<Name | undefined> {
    return orNothing(this.#get<Name>(`/v1/reservations/${part(reservationId)}`, options));
  }

  /** Shows an entity with its names, or nothing if it never had one. */
  async entity(entity: Owner, options?: CallOptions & { scope?: string }): Promise<api.EntityInfo | undefined> {
    return orNothing(this.#onEntity<api.EntityInfo>("GET", "", entity, options));
  }

  /** Lists names, in pages. */
  async list(options?: ListOptions): Promise<api.NamesPage> {
    return this.#get("/v1/names", options);
  }

  /** The events of a name, oldest first: the last 1,000, or those before the cursor of another page. */
  async history(namespace: string, value: string, options?: CallOptions & { limit?: number; cursor?: string }): Promise<api.History> {
    return this.#ask("/v1/names/history", { namespace, value }, options);
  }

  /** Says who had a name at a time. */
  async whoHeld(namespace: string, value: string, at: Date, options?: CallOptions): Promise<api.Holder> {
    const answer = await this.#ask<{ holder: api.Holder }>("/v1/names/history", { namespace, value, at: at.toISOString() }, options);
    return answer.holder;
  }

  /** A page of the feed. */
  async events(options?: CallOptions & { after?: string; limit?: number; namespace?: string }): Promise<api.EventsPage> {
    return this.#get("/v1/events", options);
  }

  /** Events as they happen: `for await (const event of dibs.watch({ after: "latest" })) …`. It goes on after interruptions. */
  watch(options: WatchOptions = {}): AsyncGenerator<api.Event, void, undefined> {
    return watch(this.#http, options);
  }

  /** Counts names by namespace and state. */
  async stats(options?: CallOptions): Promise<api.Stats> {
    return this.#get("/v1/stats", options);
  }

  /** Counts refused attempts by namespace, reason and hour. */
  async conflicts(options?: CallOptions & { namespace?: string; from?: Date; to?: Date }): Promise<api.Conflicts> {
    return this.#get("/v1/stats/conflicts", options);
  }

  /** Counts what happened by namespace: per minute of the last hour, or per hour of the last week. */
  async activity(options?: CallOptions & { bucket?: "minute" | "hour"; namespace?: string; from?: Date; to?: Date }): Promise<api.Activity> {
    return this.#get("/v1/stats/activity", options);
  }

  /** Reads with a GET. The options, but for the signal, are its query. */
  #get<T>(path: string, options?: CallOptions): Promise<T> {
    const { signal, ...query } = options ?? {};
    return this.#http.call({ path, query, repeatable: true, ...(signal && { signal }) });
  }

  /** Reads with a POST. The options, but for the signal, are further members of its body. */
  #ask<T>(path: string, body: object, options?: CallOptions): Promise<T> {
    const { signal, ...rest } = options ?? {};
    return this.#http.call(post(path, { ...body, ...rest }, "reads", signal && { signal }));
  }
}

/** A request that can be repeated. The token of an object literal may be undefined. */
function withToken<T extends WithToken>(request: T): T & { token: string } {
  return { ...request, token: request.token ?? newToken() };
}

/** A token for a hold: random, and a secret. Choose it before the call to be able to repeat it from another process. */
export function newToken(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(20));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function entityPath(entity: Owner): string {
  return `/v1/entities/${part(entity.type)}/${part(entity.id)}`;
}

function namePath(namespace: string, value: string): string {
  return `/v1/names/${part(namespace)}/${part(value)}`;
}

async function orNothing<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof DibsError && (error.code === "RESERVATION_NOT_FOUND" || error.code === "ENTITY_NOT_FOUND")) return undefined;
    throw error;
  }
}
