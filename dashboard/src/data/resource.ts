import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { isAborted } from "./api";
import { reconnects } from "./connection";
import { session } from "./session";

/** Something that is loaded from the server, and loaded again. */
export interface Resource<T> {
  /** The last answer; it stays while the next one is loaded, and if that fails. */
  value: T | undefined;
  error: unknown;
  loading: boolean;
  reload: () => void;
}

interface Options {
  /** Load again after so many milliseconds, while the page is visible. */
  everyMs?: number;
}

/**
 * Loads something when `key` changes, and again when the server comes back. `load` should pass its signal on: a newer load ends
 * the one before it.
 */
export function useResource<T>(key: string, load: (signal: AbortSignal) => Promise<T>, options: Options = {}): Resource<T> {
  const [state, setState] = useState<{ key: string; value?: T | undefined; error?: unknown; loading: boolean }>({ key, loading: true });
  const [round, setRound] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  const back = reconnects.value;

  // A new round, and a server that is back, load the same key again.
  useEffect(() => {
    const ended = new AbortController();
    setState((old) => (old.key === key ? { ...old, loading: true } : { key, loading: true }));
    latest.current(ended.signal).then(
      (value) => !ended.signal.aborted && setState({ key, value, loading: false }),
      (error: unknown) => !ended.signal.aborted && !isAborted(error) && setState((old) => ({ ...old, error, loading: false })),
    );
    return () => ended.abort();
  }, [key, round, back]);

  const reload = useCallback(() => setRound((n) => n + 1), []);
  const { everyMs } = options;
  useEffect(() => {
    if (!everyMs) return;
    const timer = setInterval(() => !document.hidden && session.peek().state === "signed in" && reload(), everyMs);
    return () => clearInterval(timer);
  }, [everyMs, reload]);

  const mine = state.key === key;
  return { value: mine ? state.value : undefined, error: mine ? state.error : undefined, loading: !mine || state.loading, reload };
}

/** The value, once it has not changed for `ms`. */
export function useSettled<T>(value: T, ms: number): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}
