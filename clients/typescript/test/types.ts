// What the types promise: this file is compiled, not run.
import { Dibs, DibsError, type Availability, type Code, type EventKind, type Reason, type Resolution, type State } from "../src/index.js";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const yes = <T extends true>(): T => true as T;

export async function types(dibs: Dibs, error: unknown, found: Resolution, free: Availability): Promise<void> {
  yes<Equal<State, "free" | "held" | "suspect" | "active" | "alias" | "quarantined">>();
  if (error instanceof DibsError) {
    yes<Equal<typeof error.code, Code>>();
    switch (error.code) {
      case "NAME_TAKEN":
        yes<Equal<typeof error.reason, Exclude<Reason, "reserved_word" | "invalid">>>();
        break;
      case "INVALID_VALUE":
        error.refusal?.try?.toUpperCase();
        break;
      default:
        // @ts-expect-error only a taken name has suggestions
        error.suggestions;
    }
  }
  if (found.outcome === "moved") found.to.toUpperCase();
  // @ts-expect-error only a name that moved leads to another
  if (found.outcome === "active") found.to;
  if (free.available) free.canonical.toUpperCase();
  else yes<Equal<typeof free.reason, Reason>>();
  // @ts-expect-error a reservation needs a value
  await dibs.reserve({ namespace: "slug" });
  // @ts-expect-error there is no such state
  await dibs.list({ state: "gone" });
  for await (const event of dibs.watch()) yes<Equal<typeof event.kind, EventKind>>();
  const attempt = await dibs.tryReserve({ namespace: "slug", value: "a" });
  if (attempt.ok) attempt.hold.token.length;
  else attempt.taken.reason.length;
}
