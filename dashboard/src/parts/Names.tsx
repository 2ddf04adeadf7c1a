import type { Entity } from "@calldibs/client";
import { entityLink, nameLink } from "../app/router";

/** A name as a link to its page. */
export function NameLink({ namespace, value, text }: { namespace: string; value: string; text?: string }) {
  return <a class="name" dir="auto" href={nameLink(namespace, value)}>{text ?? value}</a>;
}

/** A namespace and a name as a link: slug:alice-bob. */
export function KeyLink({ namespace, canonical }: { namespace: string; canonical: string }) {
  return (
    <a class="name" href={nameLink(namespace, canonical)}>
      <span class="soft">{namespace}:</span><bdi>{canonical}</bdi>
    </a>
  );
}

/** An entity as a link to its page. */
export function EntityLink({ entity, scope }: { entity: Entity; scope?: string | undefined }) {
  return <a class="name" dir="auto" href={entityLink(entity, scope)}>{entity.type}/{entity.id}</a>;
}
