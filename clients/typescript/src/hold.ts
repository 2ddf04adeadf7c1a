import { DibsError, temporary } from "./errors.js";
import { sleep } from "./http.js";
import type { Dibs, Hold, Owner, ReserveRequest } from "./client.js";
import type { Name } from "./schema.js";

/** Thrown by the function of a hold if it is unknown whether the entity was saved: the hold then stays for its witness. */
export class Unsure extends Error {
  override readonly name = "Unsure";
}

/** A hold that was left behind: its function was unsure, or its entity is saved and the name could not be confirmed. */
export class HoldError extends Error {
  override readonly name = "HoldError";
  /** The holds, with their tokens: they can still be confirmed. */
  readonly holds: Hold[];
  /** The entity, if it was saved. */
  readonly entity: Owner | undefined;
  /** Why a hold could not be extended, if that is why: `FORBIDDEN`, for example, if the key lacks the right `extend`. */
  readonly lost: unknown;
  constructor(holds: Hold[], entity: Owner | undefined, cause: unknown, lost?: unknown) {
    const names = holds.map((hold) => hold.key).join(", ");
    const why = String(cause) + (!lost || lost === cause ? "" : `; the hold could not be extended: ${String(lost)}`);
    super(entity ? `${entity.type}/${entity.id} was saved, but ${names} is not confirmed: ${why}` : `${names} stays held, because it is unknown whether its entity was saved: ${why}`, { cause });
    this.holds = holds;
    this.entity = entity;
    this.lost = lost;
  }
}

const firstPause = 50;
const longestPause = 2000;

/**
 * Runs a function while holds are kept, and then confirms them for the entity that it returns; releases them if it throws.
 * It confirms all of them in one step, so the entity gets all of its names or none.
 */
export async function whileHeld(dibs: Dibs, requests: ReserveRequest[], holds: Hold[], fn: (signal: AbortSignal) => Promise<Owner>): Promise<Name[]> {
  const losing = new AbortController();
  const lost = losing.signal;
  const done = new AbortController();
  const keepers = holds.map((hold, i) => keep(dibs, hold, requests[i]?.ttlMs, done.signal, losing));
  let entity: Owner;
  try {
    entity = await fn(lost);
  } catch (error) {
    done.abort();
    await Promise.all(keepers);
    if (isUnsure(error, lost)) throw new HoldError(holds, undefined, error, lost.reason);
    // The names should be free at once; if that fails, they are when their time is over.
    await dibs.releaseAll(holds).catch(() => undefined);
    throw error;
  }
  done.abort();
  await Promise.all(keepers);
  if (!entity?.type || !entity.id) throw new HoldError(holds, undefined, "the function returned no entity", lost.reason);
  return confirm(dibs, holds, entity, lost);
}

/** Whether the entity may have been saved although the function threw. `fetch` throws the reason of its signal. */
function isUnsure(error: unknown, lost: AbortSignal): boolean {
  return error instanceof Unsure || (error instanceof Error && error.name === "AbortError") || (lost.aborted && error === lost.reason);
}

/** Extends a hold after a third of its time, again and again. `losing` tells the function that the name may be gone. */
async function keep(dibs: Dibs, hold: Hold, ttlMs: number | undefined, done: AbortSignal, losing: AbortController): Promise<void> {
  let over = Date.now() + (hold.remainingMs ?? 0);
  let cause: unknown; // why the last attempt failed
  while (!done.aborted) {
    const left = over - Date.now();
    if (left <= 0) return losing.abort(new Error("the hold is over: it could not be extended in time", { cause }));
    if (!(await sleep(Math.max(left / 3, 20), done))) return;
    const asked = Date.now();
    try {
      const name = await dibs.extend({ ...hold, ...(ttlMs && { ttlMs }) }, { signal: AbortSignal.any([done, AbortSignal.timeout(Math.max(1, over - asked))]) });
      over = asked + (name.remainingMs ?? 0);
      hold.remainingMs = name.remainingMs ?? 0;
      cause = undefined;
    } catch (error) {
      if (done.aborted) return;
      cause = error;
      if (!(error instanceof DibsError)) continue;
      if (error.code === "TTL_TOO_LONG") await sleep(over - Date.now(), done); // it has the policy's longest time
      else if (!temporary(error)) return losing.abort(error);
    }
  }
}

/** Confirms all holds, and tries again until the first of them is over: the entity exists and needs its names. */
async function confirm(dibs: Dibs, holds: Hold[], entity: Owner, lost: AbortSignal): Promise<Name[]> {
  const over = AbortSignal.timeout(Math.max(firstPause, Math.min(...holds.map((hold) => hold.remainingMs ?? 0))));
  for (let pause = firstPause; ; pause = Math.min(2 * pause, longestPause)) {
    try {
      return await dibs.confirmAll(holds, entity, { signal: over });
    } catch (error) {
      if (!temporary(error) || !(await sleep(pause, over))) throw new HoldError(holds, entity, error, lost.reason);
    }
  }
}
