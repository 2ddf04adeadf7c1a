import type { Stats } from "@calldibs/client";
import { computed, effect, signal } from "@preact/signals";
import { dibs, isForbidden } from "./api";
import { connection, reconnects } from "./connection";
import { may, session } from "./session";

/** The counts of names, which the menu and several pages show. */
export const stats = signal<Stats | undefined>(undefined);

/** Why there are no counts. */
export const statsProblem = signal<unknown>(undefined);

const everyMs = 5000;

let loading = false;

/** Counts again. */
export async function loadStats(): Promise<void> {
  if (loading || session.peek().state !== "signed in") return;
  loading = true;
  try {
    stats.value = await dibs.stats();
    statsProblem.value = undefined;
  } catch (error) {
    if (!isForbidden(error)) statsProblem.value = error;
  } finally {
    loading = false;
  }
}

effect(() => {
  reconnects.value;
  if (session.value.state === "signed in" && may("stats")) void loadStats();
  else if (session.value.state !== "over") stats.value = undefined;
});
setInterval(() => {
  if (!document.hidden && connection.peek() === "up" && may("stats")) void loadStats();
}, everyMs);

/** The namespaces that have names, those with most names first. */
export const namespaces = computed(() => {
  const sizes = new Map<string, number>();
  for (const { namespace, count } of stats.value?.names ?? []) sizes.set(namespace, (sizes.get(namespace) ?? 0) + count);
  return [...sizes].sort((a, b) => b[1] - a[1]).map(([namespace]) => namespace);
});
