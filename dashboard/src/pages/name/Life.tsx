import type { Event, Name } from "@calldibs/client";
import { entityLink, scopeOf } from "../../app/router";
import { now } from "../../data/clock";
import { Empty } from "../../parts/Empty";
import { ownerText, type Span, spansOf } from "../../parts/spans";
import { type Lane, Timeline } from "../../parts/Timeline";

interface Props {
  events: Event[];
  name: Name;
  mark: number | undefined;
  onPick: (time: number) => void;
}

/** A name's life as a picture: a row for each owner. */
export function Life({ events, name, mark, onPick }: Props) {
  // The picture moves on once in ten seconds, not with each tick.
  const present = Math.floor(now.value / 10_000) * 10_000;
  const spans = spansOf(events, Math.max(present, Date.parse(events.at(-1)?.at ?? "") || 0));
  const first = spans[0];
  if (!first) return <Empty title="No events to draw"><p>The name was imported or its history is not yours to see.</p></Empty>;
  const to = Math.max(present, ...spans.map((span) => span.to));
  const pad = Math.max(2000, (to - first.from) * 0.02);
  return <Timeline lanes={lanesOf(spans, name)} from={first.from - pad} to={to + pad} label={inWords(spans, name)} mark={mark} onPick={onPick} />;
}

function lanesOf(spans: Span[], name: Name): Lane[] {
  const lanes = new Map<string, Lane>();
  for (const span of spans) {
    const label = ownerText(span.entity) || (span.event.actor ? `held by ${span.event.actor}` : "held");
    const lane = lanes.get(label) ?? { label, spans: [], href: span.entity && entityLink(span.entity, scopeOf(name.namespace)) };
    lane.spans.push(span);
    lanes.set(label, lane);
  }
  return [...lanes.values()];
}

function inWords(spans: Span[], name: Name): string {
  const owners = new Set(spans.filter((span) => span.state === "active").map((span) => ownerText(span.entity)));
  return `The life of ${name.key}: ${spans.length} spans, ${owners.size === 0 ? "never owned" : `owned by ${[...owners].join(", then ")}`}. The history lists every event.`;
}
