import "./events.css";
import type { Event } from "@calldibs/client";
import { useState } from "preact/hooks";
import { scopeOf } from "../app/router";
import { Empty } from "./Empty";
import { EntityLink, KeyLink } from "./Names";
import { Time } from "./Time";

/** Events, newest first. A row opens to show everything that the event says. */
export function EventTable({ events, about }: { events: Event[]; about: "name" | "all" }) {
  if (events.length === 0) return <Empty title="No events" />;
  return (
    <div class="scroll">
      <table class="events">
        <thead>
          <tr>
            <th scope="col">Time</th>
            <th scope="col">What</th>
            {about === "all" && <th scope="col">Name</th>}
            <th scope="col">Owner</th>
            <th scope="col">By</th>
            <th scope="col"><span class="hidden">Details</span></th>
          </tr>
        </thead>
        <tbody>{events.map((event) => <Row key={event.cursor} event={event} about={about} />)}</tbody>
      </table>
    </div>
  );
}

function Row({ event, about }: { event: Event; about: "name" | "all" }) {
  const [open, setOpen] = useState(false);
  const scope = event.scope ?? scopeOf(event.namespace ?? "");
  const owner = event.after?.entity ?? event.entity;
  return (
    <>
      <tr>
        <td class="soft"><Time at={event.at} style={about === "all" ? "clock" : "exact"} /></td>
        <td>{event.kind.replace("_", " ")}</td>
        {about === "all" && <td><span class="line limit">{event.namespace && event.canonical ? <KeyLink namespace={event.namespace} canonical={event.canonical} /> : <span class="soft">its entity</span>}</span></td>}
        <td><span class="line limit">{owner ? <EntityLink entity={owner} scope={scope} /> : <span class="soft">–</span>}</span></td>
        <td class="soft"><span class="line limit">{event.actor || "–"}</span></td>
        <td class="number"><button type="button" class="button plain small" aria-expanded={open} onClick={() => setOpen(!open)}>{open ? "Less" : "More"}</button></td>
      </tr>
      {open && <tr><td colSpan={about === "all" ? 6 : 5} class="detail"><pre>{JSON.stringify(event, null, 2)}</pre></td></tr>}
    </>
  );
}
