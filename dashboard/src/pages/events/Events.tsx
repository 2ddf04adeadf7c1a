import type { Event, EventKind } from "@calldibs/client";
import { useEffect, useRef, useState } from "preact/hooks";
import { place, setQuery } from "../../app/router";
import { feedLive, feedProblem, useFeed } from "../../data/feed";
import { useResource, useSettled } from "../../data/resource";
import { namespaces } from "../../data/stats";
import { number } from "../../parts/Badge";
import { Card } from "../../parts/Card";
import { Choice } from "../../parts/Choice";
import { Empty } from "../../parts/Empty";
import { EventTable } from "../../parts/EventTable";
import { SelectField, TextField } from "../../parts/Field";
import { Problem } from "../../parts/Problem";
import { type Filter, isWanted, newestEvents, readEvents } from "./filter";

const kinds: EventKind[] = ["reserved", "extended", "confirmed", "claimed", "imported", "released", "expired", "suspected", "demoted", "revived", "respelled", "given_up", "unlocked", "transferred", "moved", "archived", "restored", "deleted", "forgotten"];

/** As many rows as the live tail draws, a screen full: a hundred events a second must cost little. */
const tail = 30;

/** As many rows as a page of the past has. */
const perPage = 50;

const typingPauseMs = 150;

type Mode = "live" | "past";

/** The feed: as it comes, or from a cursor or a time on. */
export function Events() {
  const { namespace = "", kind = "", entity = "", show } = place.value.query;
  const mode: Mode = show === "past" ? "past" : "live";
  const filter = { namespace, kind, entity };
  return (
    <div class="page">
      <header>
        <h1>Events</h1>
        <div class="end"><Choice label="Which events" value={mode} onChange={(chosen) => setQuery({ show: chosen === "past" ? chosen : "" })} options={[["live", "Live"], ["past", "From a time"]]} /></div>
      </header>
      <div class="fields">
        <TextField label="Namespace" value={namespace} onInput={(value) => setQuery({ namespace: value })} list={namespaces.value.slice(0, 100)} placeholder="all namespaces" mono />
        <SelectField label="Kind" value={kind as EventKind | ""} onChange={(value) => setQuery({ kind: value })} options={[["", "All kinds"], ...kinds.map((k) => [k, k.replace("_", " ")] as const)]} />
        <TextField label="Entity" value={entity} onInput={(value) => setQuery({ entity: value })} placeholder="type/id" mono />
      </div>
      {mode === "live" ? <Live filter={filter} /> : <Past filter={filter} />}
    </div>
  );
}

/** The newest events, and others as they come. A pause keeps what is on the page; what comes meanwhile is counted, and shown after it. */
function Live({ filter }: { filter: Filter }) {
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
  const typed = useSettled(Object.values(filter).join(" "), typingPauseMs);
  const before = useResource(`newest events ${typed}`, (signal) => newestEvents(filter, tail, signal));
  const came = new Set(events.map((event) => event.cursor));
  const rows = [...events, ...(before.value ?? []).filter((event) => !came.has(event.cursor))].filter((event) => isWanted(event, filter)).slice(0, tail);
  const button = <button type="button" class="button small" aria-pressed={paused} onClick={() => setPaused(!paused)}>{paused ? `Go on${count ? ` (${number(count)} new)` : ""}` : "Pause"}</button>;
  return (
    <Card title={paused ? "Paused" : "Live"} end={button} footer={feedLive.value ? `The newest ${tail}, and others as they come. “From a time” shows all of them.` : "Connecting…"}>
      {feedProblem.value ? <div class="body"><Problem error={feedProblem.value} /></div> : null}
      <Problem error={before.error} />
      {rows.length > 0 ? <EventTable events={rows} about="tail" /> : <Empty title={feedLive.value ? "Waiting for events" : "Connecting…"}><p>Every change to a name shows here as it is committed. The playground makes some.</p></Empty>}
    </Card>
  );
}

/** Events from a time or a cursor on, page by page. */
function Past({ filter }: { filter: Filter }) {
  const { from = "", after = "" } = place.value.query;
  const start = after || moment(from);
  const [pages, setPages] = useState<{ start: string; cursors: string[] }>({ start, cursors: [] });
  const cursors = pages.start === start ? pages.cursors : []; // another start begins at its first page
  const setCursors = (list: string[]) => setPages({ start, cursors: list });
  const begin = cursors.at(-1) ?? start;
  const typed = useSettled(Object.values(filter).join(" "), typingPauseMs);
  const page = useResource(`events ${begin} ${typed}`, (signal) => readEvents(begin, filter, perPage, signal));
  const { events, nextCursor: next, more } = page.value ?? {};
  const buttons = (
    <>
      <button type="button" class="button small" disabled={cursors.length === 0} onClick={() => setCursors(cursors.slice(0, -1))}>Earlier</button>
      <button type="button" class="button small" disabled={!next || !more} onClick={() => next && setCursors([...cursors, next])}>Later</button>
    </>
  );
  return (
    <>
      <div class="fields">
        <TextField label="From" type="datetime-local" value={from} onInput={(value) => setQuery({ from: value, after: "" })} hint="In your time zone; empty is the beginning of the feed." />
        <TextField label="After the cursor" value={after} onInput={(value) => setQuery({ after: value, from: "" })} mono />
      </div>
      <Problem error={page.error} />
      <Card title="In the order of the feed" end={buttons}>
        {!events ? <div class="placeholder" /> : events.length > 0 ? <EventTable events={events} about="feed" /> : (
          <Empty title={more ? "None so far" : "No events"}><p>{more ? "Thousands of events were looked at. Later looks further." : "Nothing has happened since then that fits all fields."}</p></Empty>
        )}
      </Card>
    </>
  );
}

/** What a field of type datetime-local says, as a cursor of the feed. */
function moment(text: string): string {
  const time = new Date(text);
  return Number.isNaN(time.getTime()) ? "" : time.toISOString();
}
