import type { Event } from "@calldibs/client";
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { dibs, slowDibs } from "./api";
import { reconnects } from "./connection";
import { session } from "./session";

type Listener = (events: Event[]) => void;

/** After so long in the background a page does not catch up on events, but loads everything again. */
const catchUpMs = 60_000;

/** How long the stream stays without a listener: the next page may have one. */
const lingerMs = 2000;

/** How long events are collected before the page changes: one drawing for many events. */
const collectMs = 300;

/** The same while there are many, and how many are. */
const collectManyMs = 1000;
const many = 15;

const listeners = new Set<Listener>();
let stream: AbortController | undefined;
let cursor: string | undefined; // of the last event, while anything listens
let hiddenAt = 0;
let collected: Event[] = [];
let busy = false; // whether there were many events lately
let timer: ReturnType<typeof setTimeout> | undefined;

/** Whether every event from now on arrives. */
export const feedLive = signal(false);

/** Why there are no live events, if there are none. */
export const feedProblem = signal<unknown>(undefined);

/** Calls `listener` with new events, several at once, while the component is shown. All components share one stream. */
export function useFeed(listener: Listener): void {
  const latest = useRef(listener);
  latest.current = listener;
  const who = session.value.principal;
  const back = reconnects.value;
  // Another caller gets another stream; a stream that was refused begins again with the next session
  useEffect(() => {
    const listen: Listener = (events) => latest.current(events);
    listeners.add(listen);
    if (!stream) void run();
    return () => {
      listeners.delete(listen);
      setTimeout(() => {
        if (listeners.size > 0) return;
        stop();
        cursor = undefined;
      }, lingerMs);
    };
  }, [who, back]);
}

/** Runs `reload` when something changes, at most once in `everyMs`. */
export function useReloadOnChange(reload: () => void, everyMs: number, concerns: (event: Event) => boolean = () => true): void {
  const waiting = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const last = useRef(0);
  useFeed((events) => {
    if (waiting.current || !events.some(concerns)) return;
    waiting.current = setTimeout(() => {
      waiting.current = undefined;
      last.current = Date.now();
      reload();
    }, Math.max(0, last.current + everyMs - Date.now()));
  });
  useEffect(() => () => clearTimeout(waiting.current), []);
}

async function run(): Promise<void> {
  const mine = new AbortController();
  stream = mine;
  feedProblem.value = undefined;
  try {
    cursor ??= (await dibs.events({ after: "latest", signal: mine.signal })).nextCursor;
    feedLive.value = true;
    for await (const event of slowDibs.watch({ after: cursor, signal: mine.signal })) {
      cursor = event.cursor;
      collect(event);
    }
  } catch (error) {
    if (!mine.signal.aborted) feedProblem.value = error;
  } finally {
    if (stream === mine) {
      stream = undefined;
      feedLive.value = false;
    }
  }
}

// A browser has few connections for one server, so a page in the background leaves its stream to others.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    hiddenAt = Date.now();
    stop();
  } else if (listeners.size > 0 && !stream) {
    if (Date.now() - hiddenAt > catchUpMs) cursor = undefined;
    void run();
    reconnects.value++;
  }
});

function collect(event: Event): void {
  collected.push(event);
  timer ??= setTimeout(() => {
    timer = undefined;
    const events = collected;
    collected = [];
    busy = events.length > many;
    for (const listener of listeners) listener(events);
  }, busy ? collectManyMs : collectMs);
}

function stop(): void {
  stream?.abort();
  stream = undefined;
  feedLive.value = false;
  clearTimeout(timer);
  timer = undefined;
  collected = [];
}
