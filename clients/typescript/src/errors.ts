import type { Code, Failure, Problem, Reason, Refusal } from "./schema.js";

/** What every error of the registry has. */
interface Base extends Omit<Problem, "code" | "reason" | "refusal" | "suggestions"> {
  /** Every part of the request that failed, for a request with several. */
  errors?: Failure[];
}

/** The name belongs to another caller or owner, or was given up lately. */
export interface NameTaken extends Base {
  code: "NAME_TAKEN";
  reason: Exclude<Reason, "reserved_word" | "invalid">;
  /** Names that were free when the server answered. */
  suggestions?: string[];
}

/** The namespace does not accept the value. */
export interface InvalidValue extends Base {
  code: "INVALID_VALUE";
  /** Which rule, where, and what would be accepted. */
  refusal?: Refusal;
}

/** Every other problem: `code` says which. */
export interface OtherProblem extends Base {
  code: Exclude<Code, "NAME_TAKEN" | "INVALID_VALUE">;
}

/** A problem by its code: `switch (error.code)` narrows it. */
export type AnyProblem = NameTaken | InvalidValue | OtherProblem;

class RegistryError extends Error {
  override readonly name = "DibsError";
  readonly #problem: AnyProblem;
  constructor(problem: AnyProblem, options?: ErrorOptions) {
    super(`${problem.code}: ${problem.detail}`, options);
    Object.assign(this, problem);
    this.#problem = problem;
  }
  /** The problem document (RFC 9457), to pass on to a client of your own. */
  toJSON(): AnyProblem {
    return this.#problem;
  }
}

/**
 * An answer of the registry that is no success, or no answer at all:
 *
 * - `UNAVAILABLE`: nothing happened; try again later.
 * - `OUTCOME_UNKNOWN`: it may have happened. With a token of your own the same call again is safe.
 * - anything else: the registry decided; the same call again gets the same answer.
 *
 * `if (error instanceof DibsError && error.code === "NAME_TAKEN") error.suggestions`
 */
export type DibsError = RegistryError & AnyProblem;
export const DibsError = RegistryError as unknown as {
  new (problem: AnyProblem, options?: ErrorOptions): DibsError;
};

/** Whether the same call may succeed later. */
export function temporary(error: unknown): boolean {
  return error instanceof DibsError && /^(UNAVAILABLE|OUTCOME_UNKNOWN|TOO_MANY_REQUESTS)$/.test(error.code);
}

/** An error for what the client itself finds out. */
export function failure(code: "UNAVAILABLE" | "OUTCOME_UNKNOWN" | "INTERNAL", detail: string, cause?: unknown, status = 0): DibsError {
  const title = { INTERNAL: "Unexpected answer", UNAVAILABLE: "Unavailable", OUTCOME_UNKNOWN: "Outcome unknown" }[code];
  return new DibsError({ code, detail, title, status, type: "urn:dibs:problem:client" }, { cause });
}
