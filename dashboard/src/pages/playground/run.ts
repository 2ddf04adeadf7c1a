import { type Hold, newToken } from "@calldibs/client";
import { dibs } from "../../data/api";

/** What a caller of a race knows so far. */
export type Runner = "waiting" | "running" | "refused" | "won" | "failed";

/** A race in progress, or over. */
export interface RaceState {
  runners: Runner[];
  tookMs: number | undefined;
  error?: unknown;
}

const callers = 100;
const ttlMs = 10_000;

/** Lets a hundred callers reserve one name at the same time, each with its own token, and releases the winner's hold. */
export async function race(namespace: string, value: string, show: (state: RaceState) => void): Promise<void> {
  const runners = new Array<Runner>(callers).fill("waiting");
  const began = performance.now();
  let error: unknown;
  let winner: Hold | undefined;
  const draw = (tookMs?: number) => show({ runners: [...runners], tookMs, ...(error !== undefined && { error }) });
  const timer = setInterval(draw, 32);
  await Promise.all(shuffled(callers).map(async (i) => {
    runners[i] = "running";
    try {
      const attempt = await dibs.tryReserve({ namespace, value, ttlMs, token: newToken() });
      runners[i] = attempt.ok ? "won" : "refused";
      if (attempt.ok) winner = attempt.hold;
    } catch (problem) {
      runners[i] = "failed";
      error = problem;
    }
  }));
  clearInterval(timer);
  draw(performance.now() - began);
  if (winner) await dibs.release({ reservationId: winner.reservationId, token: winner.token }).catch(() => undefined);
}

/** The numbers from 0 on in random order: a browser sends calls one after the other, and the first dot should not always win. */
function shuffled(count: number): number[] {
  return Array.from({ length: count }, (_, i) => ({ i, at: Math.random() })).sort((a, b) => a.at - b.at).map(({ i }) => i);
}
