import "./events.css";
import type { Event } from "@calldibs/client";
import { useState } from "preact/hooks";
import { scopeOf } from "../app/router";
import { Empty } from "./Empty";
import { EntityLink, KeyLink } from "./Names";
import { Time } from "./Time";

/** Of one name, of all names as they come, or of all names at any time. */
type About = "name" | "tail" | "feed";

const times = { name: "exact", tail: "clock", feed: "second" } as const;

/** Events. A row opens to show everything that the event says. */
export function EventTable({ events, about }: { events: Event[]; about: About }) {
  const [open, setOpen] = useState<string | undefined>(undefined); // the cursor of the event whose details show
  if (events.length === 0) return <Empty title="No events" />;
  return (
    <div class="scroll">
      <table class={about === "name" ? "events" : `events fixed ${about}`}>
        <thead>
          <tr>
            <th scope="col">Time</th>
            <th scope="col">What</th>
            {about !== "name" && <th scope="col">Name</th>}
            <th scope="col">Owner</th>
            <th scope="col">By</th>
            <th scope="col"><span class="hidden">Details</span></th>
          </tr>
        </thead>
        {/* In a live tail it is cheaper to change the texts of rows than to make rows, so they have no keys; and rows are no components. */}
        <tbody>{events.map((event) => row({ event, about, open: open === event.cursor, onOpen: setOpen }))}</tbody>
      </table>
    </div>
  );
}

interface Row {
  event: Event;
  about: About;
  open: boolean;
  onOpen: (cursor: string | undefined) => void;
}

function row({ event, about, open, onOpen }: Row) {
  const scope = event.scope ?? scopeOf(event.namespace ?? "");
  const owner = event.after?.entity ?? event.entity;
  return (
    <>
      <tr>
        <td class="soft">{Time({ at: event.at, style: times[about] })}</td>
        <td class={`what ${event.after?.state ?? ""}`}>{event.kind.replace("_", " ")}</td>
        {about !== "name" && <td><span class="line limit">{event.namespace && event.canonical ? KeyLink({ namespace: event.namespace, canonical: event.canonical }) : <span class="soft">its entity</span>}</span></td>}
        <td><span class="line limit">{owner ? EntityLink({ entity: owner, scope }) : <span class="soft">–</span>}</span></td>
        <td class="soft"><span class="line limit">{event.actor || "–"}</span></td>
        <td class="number"><button type="button" class="button plain small" aria-expanded={open} onClick={() => onOpen(open ? undefined : event.cursor)}>{open ? "Less" : "More"}</button></td>
      </tr>
      {open && <tr><td colSpan={about === "name" ? 5 : 6} class="detail"><pre>{JSON.stringify(event, null, 2)}</pre></td></tr>}
    </>
  );
}
