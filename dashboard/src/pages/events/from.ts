import type { EventsPage } from "@calldibs/client";
import { dibs } from "../../data/api";

/** A page of the feed that begins at a time. The feed has no index by time, so it is read from its beginning, in large pages. */
export async function eventsFrom(time: Date, limit: number, signal: AbortSignal): Promise<EventsPage> {
  const from = time.getTime();
  for (let after: string | undefined; ; ) {
    const page = await dibs.events({ limit: 1000, signal, ...(after && { after }) });
    const first = page.events.findIndex((event) => Date.parse(event.at) >= from);
    if (first >= 0) {
      const events = page.events.slice(first, first + limit);
      return { events, nextCursor: events.at(-1)?.cursor ?? page.nextCursor };
    }
    if (page.events.length === 0) return page;
    after = page.nextCursor;
  }
}
