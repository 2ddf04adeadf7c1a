import { Dibs, DibsError } from "@calldibs/client";
import { Operator } from "@calldibs/client/operator";
import { watchedFetch } from "./connection";
import { inPieces } from "./pieces";

const options = { url: location.origin, fetch: watchedFetch };

/** The calls of every program. */
export const dibs = new Dibs(options);

/** The same for streams, which are read in large pieces. */
export const slowDibs = new Dibs({ ...options, fetch: inPieces(watchedFetch) });

/** The calls of operators. */
export const operator = new Operator(options);

/** What to tell a person about a failure. */
export function explain(error: unknown): string {
  if (error instanceof DibsError) return error.detail;
  return error instanceof Error ? error.message : String(error);
}

/** Whether an error means that the caller lacks a right. */
export function isForbidden(error: unknown): boolean {
  return error instanceof DibsError && error.code === "FORBIDDEN";
}

/** Whether an error only means that the answer is no longer wanted. */
export function isAborted(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}
