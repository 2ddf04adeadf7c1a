import type { Entity, Event, Result } from "@calldibs/client";
import type { ComponentChildren } from "preact";
import { dateInWords } from "../parts/Time";

/** What a command will do, or has done, in sentences: one for each event that it records. */
export function inWords(result: Result): ComponentChildren[] {
  if (result.replayed) return ["Nothing: this is already so."];
  const events = result.events ?? [];
  return events.length > 0 ? events.map((event) => sentence(event, events)) : ["Nothing will change."];
}

function sentence(event: Event, all: Event[]): ComponentChildren {
  const name = <Quoted text={event.canonical || event.value || ""} />;
  const owner = <Owner entity={event.after?.entity ?? event.entity} />;
  const before = <Owner entity={event.before?.entity} />;
  const until = event.after?.until;
  switch (event.kind) {
    case "reserved": return <>{name} will be held{until ? ` until ${dateInWords(until)}` : ""}.</>;
    case "extended": return <>The hold on {name} will last{until ? ` until ${dateInWords(until)}` : " longer"}.</>;
    case "confirmed": case "claimed": case "revived": return <>{name} will be the name of {owner}.</>;
    case "demoted": return <>{name} will redirect{target(event, all)}{until ? ` until ${dateInWords(until)}` : ", for good"}.</>;
    case "released": return <>The hold on {name} will end: {afterwards(event)}.</>;
    case "expired": return <>The hold on {name} is over: {afterwards(event)}.</>;
    case "given_up": return <>{name} will no longer belong to {before}: {afterwards(event)}.</>;
    case "unlocked": return <>{name} will be free for every caller.</>;
    case "transferred": return <>{name} will belong to {owner} instead of {before}.</>;
    case "suspected": return <>{name} will wait for a verdict.</>;
    case "archived": return <>No name of {owner} will resolve any more. All of them stay taken, until it is restored.</>;
    case "restored": return <>The names of {owner} will resolve again.</>;
    case "deleted": return <>{owner} will be deleted, with every name.</>;
    default: return <>{name} will be {event.kind.replace("_", " ")}.</>;
  }
}

/** The name to which a demoted one leads: the active one of the same owner. */
function target(event: Event, all: Event[]): ComponentChildren {
  const to = all.find((other) => other !== event && other.namespace === event.namespace && other.after?.state === "active");
  return to ? <> to <Quoted text={to.canonical || to.value || ""} /></> : "";
}

function afterwards(event: Event): string {
  const { state, until, entity } = event.after ?? {};
  if (state === "quarantined") return `it stays reserved${entity ? ` for ${entity.type}/${entity.id}` : ""}${until ? ` until ${dateInWords(until)}` : ""}`;
  return "it will be free for every caller";
}

function Quoted({ text }: { text: string }) {
  return <b class="name"><bdi>{text}</bdi></b>;
}

function Owner({ entity }: { entity: Entity | undefined }) {
  return entity ? <b class="name"><bdi>{entity.type}/{entity.id}</bdi></b> : <>its owner</>;
}
