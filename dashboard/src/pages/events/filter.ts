import type { Event, EventsPage } from "@calldibs/client";
import { dibs } from "../../data/api";

/** Which events to show; an empty member does not matter. */
export interface Filter {
  namespace: string;
  kind: string;
  /** The beginning of type/id. */
  entity: string;
}

/** Whether a filter selects an event. */
export function isWanted(event: Event, { namespace, kind, entity }: Filter): boolean {
  return (!namespace || event.namespace === namespace) && (!kind || event.kind === kind) && (!entity || concerns(event, entity));
}

function concerns(event: Event, text: string): boolean {
  return [event.entity, event.before?.entity, event.after?.entity].some((entity) => entity && `${entity.type}/${entity.id}`.startsWith(text));
}

/** How far back the newest events are looked for, and in how many steps. */
const nearestMs = 1000;
const furthestMs = 365 * 86_400_000;
const mostSteps = 10;

/** The newest events that a filter selects, newest first. The feed is read forwards only, so this looks for the time since which there are enough events, and not too many for one answer. */
export async function newestEvents(filter: Filter, limit: number, signal: AbortSignal): Promise<Event[]> {
  let newest: Event[] = [];
  let [near, far, back] = [nearestMs, furthestMs, furthestMs];
  for (let step = 0; step < mostSteps && newest.length < limit; step++) {
    const after = new Date(Date.now() - back).toISOString();
    const page = await dibs.events({ limit: 1000, after, signal, ...(filter.namespace && { namespace: filter.namespace }) });
    if (page.more) far = back;
    else {
      newest = page.events.filter((event) => isWanted(event, filter));
      near = back;
    }
    if (near === furthestMs) break; // these are all
    back = Math.sqrt(near * far);
  }
  return newest.toReversed().slice(0, limit);
}

/** How often the feed is asked for one page: each answer looks at up to a thousand events. */
const mostCalls = 20;

/** A page of the events that a filter selects, after a cursor. The feed has no index for it, so the page may be short, and `more` follow. */
export async function readEvents(after: string, filter: Filter, limit: number, signal: AbortSignal): Promise<EventsPage> {
  const { namespace, kind, entity } = filter;
  const found: Event[] = [];
  let cursor = after;
  for (let calls = 1; ; calls++) {
    const page = await dibs.events({ limit: kind || entity ? 1000 : limit, signal, ...(namespace && { namespace }), ...(cursor && { after: cursor }) });
    for (const event of page.events) {
      if (!isWanted(event, filter)) continue;
      found.push(event);
      if (found.length === limit) return { events: found, nextCursor: event.cursor ?? page.nextCursor, more: page.more || event !== page.events.at(-1) };
    }
    cursor = page.nextCursor;
    if (!page.more || calls === mostCalls) return { ...page, events: found };
  }
}
