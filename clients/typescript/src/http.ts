import { DibsError, failure, temporary, type AnyProblem } from "./errors.js";

/** How to reach a server. */
export interface Options {
  /** The server, such as `https://names.example.com`. */
  url: string | URL;
  /** An API key, or a function that returns a token of an OpenID issuer. */
  key?: string | (() => string | Promise<string>);
  /** How long a call may take with all of its repeats. Default: 15 seconds. */
  timeoutMs?: number;
  /** Another `fetch`, for tests or proxies. */
  fetch?: typeof fetch;
}

/** How a single call may end early. */
export interface CallOptions {
  signal?: AbortSignal;
}

/** What a request needs. */
export interface Call extends CallOptions {
  method?: string;
  path: string;
  query?: Record<string, string | number | boolean | Date | undefined>;
  body?: unknown;
  headers?: Record<string, string>;
  /** Whether the same request again is safe even if the first was done; "reads" if it changes nothing, as every GET. */
  repeatable: boolean | "reads";
  /** Statuses besides 2xx whose body is an answer. */
  answers?: number[];
}

/** Answers of a server, or of a proxy, that say nothing about what an earlier attempt has done. */
const saysNothing = /^(INTERNAL|UNAUTHORIZED|FORBIDDEN|UNAVAILABLE|TOO_MANY_REQUESTS)$/;

const firstPause = 50;
const longestPause = 2000;

/** Sends requests, and repeats those that may be repeated. */
export class Http {
  readonly #base: string;
  readonly #options: Options;
  readonly #fetch: typeof fetch;

  constructor(options: Options) {
    const url = new URL(options.url);
    this.#base = url.href.replace(/\/+$/, "");
    this.#options = options;
    this.#fetch = options.fetch ?? ((...args) => globalThis.fetch(...args));
  }

  /** Makes a call and returns the body of its answer. */
  async call<T>(call: Call): Promise<T> {
    const timeoutMs = this.#options.timeoutMs ?? 15_000;
    const deadline = AbortSignal.timeout(timeoutMs);
    const signal = call.signal ? AbortSignal.any([call.signal, deadline]) : deadline;
    let unsure = false; // whether an earlier attempt may have been done
    for (let pause = firstPause; ; pause = Math.min(2 * pause, longestPause)) {
      const attempt = await this.#attempt<T>(call, signal);
      if ("answer" in attempt) return attempt.answer;
      unsure ||= attempt.unsure;
      const repeat = attempt.retry && (call.repeatable || !attempt.unsure);
      const wait = Math.max(pause * (0.5 + Math.random()), attempt.afterMs);
      if (repeat && wait < timeoutMs && (await sleep(wait, signal))) continue;
      const { error } = attempt;
      if (unsure && saysNothing.test(error.code)) throw failure("OUTCOME_UNKNOWN", `the call may have been done: ${error.detail}`, error);
      throw attempt.retry && !error.status ? failure("UNAVAILABLE", `nothing happened: ${error.detail}`, error.cause) : error;
    }
  }

  /** Opens a response that is read as it comes. */
  async open(path: string, headers: Record<string, string>, signal: AbortSignal): Promise<Response> {
    return this.#fetch(this.#base + path, { headers: { ...(await this.#authorization()), ...headers }, signal, redirect: "manual" });
  }

  async #attempt<T>(call: Call, signal: AbortSignal): Promise<{ answer: T } | Failed> {
    const reads = !call.method || call.method === "GET" || call.repeatable === "reads";
    let sent = false;
    try {
      const headers = { ...(await this.#authorization()), accept: "application/json", ...call.headers };
      const init: RequestInit = { method: call.method ?? "GET", headers, signal, redirect: "manual" };
      if (call.body !== undefined) {
        init.headers = { ...headers, "content-type": "application/json" };
        init.body = JSON.stringify(call.body);
      }
      sent = !signal.aborted;
      const response = await this.#fetch(this.#base + call.path + queryOf(call.query), init);
      const text = await response.text();
      return read<T>(call, response, text, reads);
    } catch (cause) {
      if (call.signal?.aborted && reads) throw call.signal.reason;
      const root = rootOf(cause);
      const why = signal.aborted ? "there was no answer in time" : `the server cannot be reached: ${root}`;
      return { error: failure("UNAVAILABLE", why, cause), retry: true, unsure: sent && !reads && !unconnected.test(root), afterMs: 0 };
    }
  }

  async #authorization(): Promise<Record<string, string>> {
    const { key } = this.#options;
    if (key === undefined) return {};
    return { authorization: `Bearer ${typeof key === "function" ? await key() : key}` };
  }
}

/** What Node, Bun and Deno say of a connection that was never made (Deno after the URL, which has no spaces). Browsers do not tell. */
const unconnected = /^(bad port|connect|econnrefused|getaddrinfo|unable to connect)\b| \(connect\)/i;

/** The message of the innermost cause. Node has one error for all addresses of a host. */
function rootOf(error: unknown): string {
  const { cause, errors, message } = Object(error) as { cause?: unknown; errors?: unknown[]; message?: string };
  const inner = cause ?? errors?.[0];
  return inner ? rootOf(inner) : (message ?? String(error));
}

interface Failed {
  error: DibsError;
  retry: boolean; // another attempt may succeed
  unsure: boolean; // it may have been done
  afterMs: number; // the pause that the server asks for
}

function read<T>(call: Call, response: Response, text: string, reads: boolean): { answer: T } | Failed {
  const { status } = response;
  const isProblem = response.headers.get("content-type")?.startsWith("application/problem+json");
  const body = response.ok && isProblem ? undefined : parse(text); // a proxy has changed the status of an error
  if (body && (response.ok || (call.answers?.includes(status) && "outcome" in body))) return { answer: body as T };
  const afterMs = 1000 * (Number(response.headers.get("retry-after")) || 0);
  const decided = problemIn(body);
  if (decided) {
    const broken = decided.code === "INTERNAL" && !reads; // perhaps after it was done
    return { error: decided, unsure: broken || decided.code === "OUTCOME_UNKNOWN", afterMs, retry: broken || temporary(decided) };
  }
  // Not of the registry: a proxy, or another server.
  const gateway = status === 429 || (status > 501 && status < 505);
  const error = failure(gateway ? "UNAVAILABLE" : "INTERNAL", notOurs(status));
  return { error, retry: gateway, unsure: !reads && status !== 429 && (status >= 500 || response.ok), afterMs };
}

/** The problem of a registry in the body of an answer, or nothing: other servers answer errors in JSON, too. */
export function problemIn(body: object | undefined): DibsError | undefined {
  const problem = body as AnyProblem | undefined;
  return problem?.code && typeof problem.detail === "string" ? new DibsError({ ...problem, detail: problem.detail.replace(/^1 of 1 .*?; number 1: /, "") }) : undefined;
}

/** What is wrong with an answer of a proxy, or of another server. */
export function notOurs(status: number): string {
  return `the answer is not one of a registry (status ${status}): check the URL`;
}

/** The object of a JSON text; undefined for any other text. */
export function parse(text: string): object | undefined {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === "object" && body !== null ? body : undefined;
  } catch {
    return undefined;
  }
}

function queryOf(query: Call["query"]): string {
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== "");
  if (given.length === 0) return "";
  return "?" + new URLSearchParams(given.map(([name, value]) => [name, value instanceof Date ? value.toISOString() : String(value)])).toString();
}

/** Waits, and reports whether the signal let it. */
export function sleep(ms: number, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve(false);
    const end = (whole: boolean) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", interrupted);
      resolve(whole);
    };
    const interrupted = () => end(false);
    const timer = setTimeout(() => end(true), ms);
    signal.addEventListener("abort", interrupted, { once: true });
  });
}
