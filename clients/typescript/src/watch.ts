import { DibsError, failure, temporary } from "./errors.js";
import { notOurs, parse, problemIn, sleep, type Http } from "./http.js";
import type { Event, EventsPage } from "./schema.js";

/** Which events to watch. */
export interface WatchOptions {
  /** Only names of this namespace. */
  namespace?: string;
  /** Where to begin: the cursor of the last event that was seen, `"latest"` for now, a time as in `2026-03-01T15:04:05Z`; without, the beginning. */
  after?: string;
  /** Ends the iteration. */
  signal?: AbortSignal;
}

/** A stream without a sign of life for so long is opened again; the server sends one every 5 seconds. */
const silenceMs = 20_000;
const firstPause = 100;
const longestPause = 5_000;

/** Yields events as they happen, and goes on where it was after every interruption: none is missed, none comes twice. */
export async function* watch(http: Http, options: WatchOptions): AsyncGenerator<Event, void, undefined> {
  const ended = options.signal ?? new AbortController().signal;
  let cursor = options.after;
  for (let pause = firstPause; !ended.aborted; ) {
    const silent = new AbortController();
    const alive = () => {
      clearTimeout(timer);
      timer = setTimeout(() => silent.abort(), silenceMs);
    };
    let timer = setTimeout(() => silent.abort(), silenceMs);
    try {
      if (cursor === "latest") {
        // A cursor from now on: a stream that is cut before its first event must not skip any.
        cursor = (await http.call<EventsPage>({ path: "/v1/events", query: { after: cursor }, repeatable: true, signal: ended })).nextCursor;
      }
      const query = new URLSearchParams();
      if (options.namespace) query.set("namespace", options.namespace);
      if (cursor) query.set("after", cursor);
      const response = await http.open(`/v1/events?${query}`, { accept: "text/event-stream" }, AbortSignal.any([ended, silent.signal]));
      if (!response.ok || !response.body || !response.headers.get("content-type")?.includes("event-stream")) {
        const problem = await problemOf(response);
        if (problem) throw problem;
      } else {
        for await (const message of messages(response.body, alive)) {
          pause = firstPause;
          if (message.data) yield JSON.parse(message.data) as Event;
          if (message.id) cursor = message.id;
        }
      }
    } catch (error) {
      if (ended.aborted) return;
      if (error instanceof DibsError && !temporary(error)) throw error;
    } finally {
      clearTimeout(timer);
      silent.abort(); // closes the connection when the caller leaves the loop
    }
    await sleep(pause * (0.5 + Math.random()), ended);
    pause = Math.min(2 * pause, longestPause);
  }
}

/** The problem of an answer, or nothing if a proxy gave the answer and another try may help. */
async function problemOf(response: Response): Promise<DibsError | undefined> {
  const problem = problemIn(parse(await response.text()));
  if (problem || response.status >= 500 || response.status === 429) return problem;
  return failure("INTERNAL", notOurs(response.status), undefined, response.status);
}

interface Message {
  id: string;
  data: string;
}

/** Reads server-sent events. A message ends with an empty line; lines end with \n, \r\n or \r. */
export async function* messages(body: ReadableStream<Uint8Array>, alive: () => void): AsyncGenerator<Message> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  let id = "";
  let data: string[] = [];
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      alive();
      rest += decoder.decode(value, { stream: true });
      // A \r at the end may be the first half of \r\n.
      const lines = rest.split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (line === "") {
          if (id || data.length > 0) yield { id, data: data.join("\n") };
          id = "";
          data = [];
          continue;
        }
        const colon = line.indexOf(":");
        const field = colon < 0 ? line : line.slice(0, colon);
        const text = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
        if (field === "data") data.push(text);
        else if (field === "id") id = text;
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
