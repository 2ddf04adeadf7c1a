import { operator } from "../data/api";
import { may, session, signOut } from "../data/session";
import { type Resource, useResource, useSettled } from "../data/resource";
import { menu } from "./pages";
import { entityLink, go, link, nameLink, scopeOf } from "./router";
import { overlay } from "./shortcuts";
import { nextTheme } from "./theme";

/** Something that the search box or the palette offers. */
export interface Hit {
  id: string;
  kind: "name" | "entity" | "page" | "command";
  title: string;
  detail: string;
  run: () => void;
}

const typingPauseMs = 120;
const maxHits = 8;

/** Finds names and entities while a person types. */
export function useFinder(text: string): Resource<Hit[]> {
  const settled = useSettled(text.trim(), typingPauseMs);
  const found = useResource(`find ${settled}`, (signal) => (settled ? find(settled, signal) : Promise.resolve([])));
  return { ...found, loading: found.loading || settled !== text.trim() };
}

async function find(text: string, signal: AbortSignal): Promise<Hit[]> {
  const { names, entities } = await operator.search(text, { limit: maxHits, signal });
  return [
    ...names.map((name): Hit => ({
      id: name.reservationId, kind: "name", title: name.key, detail: name.entity ? `${name.state} · ${name.entity.type}/${name.entity.id}` : name.state,
      run: () => go(nameLink(name.namespace, name.canonical || name.value)),
    })),
    ...entities.map(({ entity, names: own, scope }): Hit => ({
      id: `${scope ?? ""} ${entity.type}/${entity.id}`, kind: "entity", title: `${entity.type}/${entity.id}`,
      detail: `${own.length} ${own.length === 1 ? "name" : "names"}`, run: () => go(entityLink(entity, scope ?? scopeOf(own[0]?.namespace ?? ""))),
    })),
  ];
}

/** The pages and commands whose titles contain a text. */
export function commands(text: string): Hit[] {
  const wanted = text.trim().toLowerCase();
  const pages = menu
    .filter((page) => !page.needs || may(page.needs))
    .map((page): Hit => ({ id: `page ${page.path}`, kind: "page", title: page.title, detail: `g ${page.key}`, run: () => go(link(page.path ? [page.path] : [])) }));
  const others: Hit[] = [
    { id: "theme", kind: "command", title: "Change the theme", detail: "light, dark, as the system", run: nextTheme },
    { id: "help", kind: "command", title: "Keyboard shortcuts", detail: "?", run: () => { overlay.value = "help"; } },
    { id: "docs", kind: "command", title: "API documentation", detail: "/docs", run: () => { location.href = "/docs/"; } },
  ];
  if (session.value.me?.signedInBy === "session") others.push({ id: "out", kind: "command", title: "Sign out", detail: session.value.principal ?? "", run: () => void signOut() });
  return [...pages, ...others].filter((hit) => hit.title.toLowerCase().includes(wanted));
}
