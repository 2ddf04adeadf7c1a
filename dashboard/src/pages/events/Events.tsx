import type { Event, EventKind } from "@calldibs/client";
import { useEffect, useRef, useState } from "preact/hooks";
import { place, setQuery } from "../../app/router";
import { dibs } from "../../data/api";
import { feedLive, feedProblem, useFeed } from "../../data/feed";
import { useResource } from "../../data/resource";
import { namespaces } from "../../data/stats";
import { number } from "../../parts/Badge";
import { Card } from "../../parts/Card";
import { Empty } from "../../parts/Empty";
import { EventTable } from "../../parts/EventTable";
import { SelectField, TextField } from "../../parts/Field";
import { Problem } from "../../parts/Problem";
import { Choice } from "../../parts/Choice";
import { eventsFrom } from "./from";

const kinds: EventKind[] = ["reserved", "extended", "confirmed", "claimed", "released", "expired", "suspected", "demoted", "revived", "given_up", "unlocked", "transferred", "archived", "restored", "deleted", "forgotten"];

/** As many rows as the page draws; older ones are behind a cursor. */
const shown = 50;

type Mode = "live" | "past";

/** The feed: as it comes, or from a cursor or a time on. */
export function Events() {
  const { namespace = "", kind = "", entity = "" } = place.value.query;
  const [mode, setMode] = useState<Mode>("live");
  const wanted = (event: Event) => (!namespace || event.namespace === namespace) && (!kind || event.kind === kind) && (!entity || concerns(event, entity));
  return (
    <div class="page">
      <header>
        <h1>Events</h1>
        <div class="end"><Choice label="Which events" value={mode} onChange={setMode} options={[["live", "Live"], ["past", "From a time"]]} /></div>
      </header>
      <div class="fields">
        <TextField label="Namespace" value={namespace} onInput={(value) => setQuery({ namespace: value })} list={namespaces.value.slice(0, 100)} placeholder="all namespaces" mono />
        <SelectField label="Kind" value={kind as EventKind | ""} onChange={(value) => setQuery({ kind: value })} options={[["", "All kinds"], ...kinds.map((k) => [k, k.replace("_", " ")] as const)]} />
        <TextField label="Entity" value={entity} onInput={(value) => setQuery({ entity: value })} placeholder="type/id" mono />
      </div>
      {mode === "live" ? <Live wanted={wanted} /> : <Past wanted={wanted} />}
    </div>
  );
}

function concerns(event: Event, text: string): boolean {
  return [event.entity, event.before?.entity, event.after?.entity].some((entity) => entity && `${entity.type}/${entity.id}`.startsWith(text));
}

/** Events as they come. A pause keeps what is on the page; what comes meanwhile is counted, and shown after it. */
function Live({ wanted }: { wanted: (event: Event) => boolean }) {
  const [events, setEvents] = useState<Event[]>([]);
  const [paused, setPaused] = useState(false);
  const waiting = useRef<Event[]>([]);
  const [count, setCount] = useState(0);
  useFeed((fresh) => {
    if (paused) {
      waiting.current = [...fresh.toReversed(), ...waiting.current].slice(0, 1000);
      setCount((n) => n + fresh.length);
    } else setEvents((old) => [...fresh.toReversed(), ...old].slice(0, 1000));
  });
  useEffect(() => {
    if (paused) return;
    const missed = waiting.current;
    waiting.current = [];
    setCount(0);
    setEvents((old) => [...missed, ...old].slice(0, 1000));
  }, [paused]);
  const rows = events.filter(wanted).slice(0, shown);
  const button = <button type="button" class="button small" aria-pressed={paused} onClick={() => setPaused(!paused)}>{paused ? `Go on${count ? ` (${number(count)} new)` : ""}` : "Pause"}</button>;
  return (
    <Card title={paused ? "Paused" : "Live"} end={button} footer={`The newest ${shown} at most. From a time shows older ones.`}>
      {feedProblem.value ? <div class="body"><Problem error={feedProblem.value} /></div> : null}
      {rows.length > 0 ? <EventTable events={rows} about="all" /> : <Empty title={feedLive.value ? "Waiting for events" : "Connecting…"}><p>Every change to a name shows here as it is committed. The playground makes some.</p></Empty>}
    </Card>
  );
}

/** Events from a time or a cursor on, page by page. */
function Past({ wanted }: { wanted: (event: Event) => boolean }) {
  const [from, setFrom] = useState("");
  const [after, setAfter] = useState("");
  const [cursors, setCursors] = useState<string[]>([]);
  const cursor = cursors.at(-1);
  const page = useResource(`events ${from} ${after} ${cursor}`, (signal) => (cursor || !from ? dibs.events({ limit: shown, signal, ...((cursor || after) && { after: cursor ?? after }) }) : eventsFrom(new Date(from), shown, signal)));
  const restart = (set: (text: string) => void) => (text: string) => {
    setCursors([]);
    set(text);
  };
  const next = page.value?.nextCursor;
  const rows = (page.value?.events ?? []).filter(wanted);
  const buttons = (
    <>
      <button type="button" class="button small" disabled={cursors.length === 0} onClick={() => setCursors(cursors.slice(0, -1))}>Earlier</button>
      <button type="button" class="button small" disabled={!next || (page.value?.events.length ?? 0) === 0} onClick={() => next && setCursors([...cursors, next])}>Later</button>
    </>
  );
  return (
    <>
      <div class="fields">
        <TextField label="From" type="datetime-local" value={from} onInput={restart(setFrom)} hint="In your time zone; empty is the beginning of the feed." />
        <TextField label="After the cursor" value={after} onInput={restart(setAfter)} mono />
      </div>
      <Problem error={page.error} />
      <Card title="In the order of the feed" end={buttons}>
        <EventTable events={rows} about="all" />
      </Card>
    </>
  );
}
