import type { Entity, Event, State } from "@calldibs/client";

/** A time during which a name was in one state, with one owner. */
export interface Span {
  from: number;
  to: number;
  state: State;
  entity?: Entity;
  /** The event with which it began. */
  event: Event;
  /** Whether it goes on. */
  open: boolean;
}

/** The spans between the events of one name, oldest first. Free times are left out. */
export function spansOf(events: Event[], now: number): Span[] {
  const spans: Span[] = [];
  events.forEach((event, i) => {
    const after = event.after;
    if (!after?.state || after.state === "free") return;
    const next = events[i + 1];
    const from = Date.parse(event.at);
    const ends = after.until && after.state !== "active" ? Date.parse(after.until) : Number.POSITIVE_INFINITY;
    const to = next ? Date.parse(next.at) : Math.min(now, ends);
    const entity = after.entity ?? event.entity;
    spans.push({ from, to: Math.max(from, to), state: after.state, event, open: !next && ends > now, ...(entity && { entity }) });
  });
  return merge(spans);
}

/** Joins spans that follow each other with the same state and owner: an extended hold is one. */
function merge(spans: Span[]): Span[] {
  const merged: Span[] = [];
  for (const span of spans) {
    const last = merged.at(-1);
    if (last && last.to === span.from && last.state === span.state && ownerText(last.entity) === ownerText(span.entity)) {
      last.to = span.to;
      last.open = span.open;
    } else merged.push(span);
  }
  return merged;
}

export function ownerText(entity: Entity | undefined): string {
  return entity ? `${entity.type}/${entity.id}` : "";
}
