import type { ConflictBucket } from "@calldibs/client";

/** Refusals by something, the most first. */
export function sumsBy(buckets: ConflictBucket[], by: (bucket: ConflictBucket) => string, limit: number): [label: string, count: number][] {
  const sums = new Map<string, number>();
  for (const bucket of buckets) sums.set(by(bucket), (sums.get(by(bucket)) ?? 0) + bucket.count);
  return [...sums].sort((a, b) => b[1] - a[1]).slice(0, limit);
}

/** A reason in words: in_use is "in use". */
export function reasonText(reason: string): string {
  return reason.replaceAll("_", " ");
}
