import { computed, signal } from "@preact/signals";

/** Where the browser is: the parts of the path behind #, and the query. Both are decoded. */
export interface Place {
  parts: string[];
  query: Record<string, string>;
}

const hash = signal(location.hash);
addEventListener("hashchange", () => {
  hash.value = location.hash;
});

export const place = computed<Place>(() => parse(hash.value));

function parse(text: string): Place {
  const [path = "", query = ""] = text.replace(/^#?\/?/, "").split("?", 2);
  return { parts: path.split("/").filter(Boolean).map(decode), query: Object.fromEntries(new URLSearchParams(query)) };
}

/** A part that a person typed may not be encoded properly. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The address of a page. */
export function link(parts: string[], query: Record<string, string | undefined> = {}): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]));
  const search = given.length ? `?${new URLSearchParams(given)}` : "";
  return `#/${parts.map(encodeURIComponent).join("/")}${search}`;
}

export const nameLink = (namespace: string, value: string): string => link(["name", namespace, value]);

export const entityLink = (entity: { type: string; id: string }, scope?: string): string => link(["entity", entity.type, entity.id], { scope });

/** Goes to another page. */
export function go(to: string): void {
  location.hash = to;
}

/** Changes the query of the present page, without a new entry in the browser's history. */
export function setQuery(query: Record<string, string | undefined>): void {
  history.replaceState(null, "", link(place.value.parts, { ...place.value.query, ...query }));
  hash.value = location.hash;
}

/** The scope of a namespace: what is before its last dot. */
export function scopeOf(namespace: string): string {
  return namespace.slice(0, Math.max(0, namespace.lastIndexOf(".")));
}
