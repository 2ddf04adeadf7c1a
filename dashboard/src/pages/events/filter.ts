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
