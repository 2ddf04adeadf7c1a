import type { State } from "@calldibs/client";

/** The state of a name. */
export function StateBadge({ state }: { state: State }) {
  return <span class={`badge ${state}`}>{state}</span>;
}

/** A number that waits for somebody, in a menu. */
export function Count({ of, label }: { of: number; label: string }) {
  if (of === 0) return null;
  return <span class="count">{number(of)}<span class="hidden"> {label}</span></span>;
}

const grouped = new Intl.NumberFormat();
const compact = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });

/** A number with separators: 1,234,567. */
export function number(n: number): string {
  return grouped.format(n);
}

/** A number for a narrow place: 1.2M. */
export function shortNumber(n: number): string {
  return n < 10_000 ? grouped.format(n) : compact.format(n);
}
