import "./events.css";
import type { Event } from "@calldibs/client";
import { useState } from "preact/hooks";
import { scopeOf } from "../app/router";
import { Empty } from "./Empty";
import { EntityLink, KeyLink } from "./Names";
import { Time } from "./Time";

/** Events, newest first. A row opens to show everything that the event says. */
export function EventTable({ events, about }: { events: Event[]; about: "name" | "all" }) {
  const [open, setOpen] = useState<string | undefined>(undefined); // the cursor of the event whose details show
  if (events.length === 0) return <Empty title="No events" />;
  return (
    <div class="scroll">
      <table class={about === "all" ? "events fixed" : "events"}>
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
        {/* Rows have no keys: in a live tail it is cheaper to change their texts than to make them again. */}
        <tbody>{events.map((event) => <Row event={event} about={about} open={open === event.cursor} onOpen={setOpen} />)}</tbody>
      </table>
    </div>
  );
}

interface RowProps {
  event: Event;
  about: "name" | "all";
  open: boolean;
  onOpen: (cursor: string | undefined) => void;
}

function Row({ event, about, open, onOpen }: RowProps) {
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
        <td class="number"><button type="button" class="button plain small" aria-expanded={open} onClick={() => onOpen(open ? undefined : event.cursor)}>{open ? "Less" : "More"}</button></td>
      </tr>
      {open && <tr><td colSpan={about === "all" ? 6 : 5} class="detail"><pre>{JSON.stringify(event, null, 2)}</pre></td></tr>}
    </>
  );
}
