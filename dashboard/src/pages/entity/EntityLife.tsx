import type { Entity, Event, Name } from "@calldibs/client";
import { dibs } from "../../data/api";
import { now } from "../../data/clock";
import { useResource } from "../../data/resource";
import { Empty } from "../../parts/Empty";
import { ownerText, spansOf } from "../../parts/spans";
import { type Lane, Timeline } from "../../parts/Timeline";

/** As many names as a picture can show. */
const shown = 12;

/** The names of an entity over time: a row for each name. */
export function EntityLife({ entity, names }: { entity: Entity; names: Name[] }) {
  const drawn = names.slice(0, shown);
  const key = drawn.map((name) => `${name.key}@${name.epoch}${name.state}`).join();
  const histories = useResource(`life ${key}`, (signal) => Promise.all(drawn.map((name) => eventsOf(name, signal))));
  const present = Math.floor(now.value / 10_000) * 10_000;
  const lanes = drawn
    .map((name, i): Lane => ({
      label: drawn.every((other) => other.namespace === name.namespace) ? name.canonical : name.key,
      spans: spansOf(histories.value?.[i] ?? [], present).filter((span) => ownerText(span.entity) === ownerText(entity)),
    }))
    .filter((lane) => lane.spans.length > 0);
  if (!histories.value) return null;
  if (lanes.length === 0) return <Empty title="No events to draw" />;
  const from = Math.min(...lanes.flatMap((lane) => lane.spans.map((span) => span.from)));
  const to = Math.max(present, ...lanes.flatMap((lane) => lane.spans.map((span) => span.to)));
  const pad = Math.max(2000, (to - from) * 0.02);
  return <Timeline lanes={lanes} from={from - pad} to={to + pad} label={`The names of ${ownerText(entity)} over time. The table lists them.`} />;
}

async function eventsOf(name: Name, signal: AbortSignal): Promise<Event[]> {
  return (await dibs.history(name.namespace, name.canonical || name.value, { limit: 200, signal })).events ?? [];
}
