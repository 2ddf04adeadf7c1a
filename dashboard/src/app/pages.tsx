import type { ComponentChildren } from "preact";
import { Conflicts } from "../pages/conflicts/Conflicts";
import { EntityPage } from "../pages/entity/EntityPage";
import { Events } from "../pages/events/Events";
import { Keys } from "../pages/keys/Keys";
import { NamePage } from "../pages/name/NamePage";
import { Overview } from "../pages/overview/Overview";
import { Playground } from "../pages/playground/Playground";
import { Policies } from "../pages/policies/Policies";
import { Names } from "../pages/search/Names";
import { Suspects } from "../pages/suspects/Suspects";
import { Webhooks } from "../pages/webhooks/Webhooks";
import { Empty } from "../parts/Empty";
import type { IconName } from "../parts/Icon";
import type { Place } from "./router";

/** A page of the menu. */
export interface Page {
  /** The first part of its address. */
  path: string;
  title: string;
  icon: IconName;
  group: "look" | "work";
  /** The key that follows g. */
  key: string;
  /** The right without which the menu does not show it. */
  needs?: string;
  show: (place: Place) => ComponentChildren;
}

/** The pages of the menu, in its order. */
export const menu: Page[] = [
  { path: "", title: "Overview", icon: "overview", group: "look", key: "o", show: () => <Overview /> },
  { path: "names", title: "Names", icon: "names", group: "look", key: "n", needs: "list", show: () => <Names /> },
  { path: "playground", title: "Playground", icon: "playground", group: "look", key: "p", needs: "check", show: () => <Playground /> },
  { path: "events", title: "Events", icon: "events", group: "look", key: "e", needs: "events", show: () => <Events /> },
  { path: "conflicts", title: "Conflicts", icon: "conflicts", group: "look", key: "c", needs: "stats", show: () => <Conflicts /> },
  { path: "suspects", title: "Suspects", icon: "suspects", group: "work", key: "s", needs: "list", show: () => <Suspects /> },
  { path: "webhooks", title: "Webhooks", icon: "webhooks", group: "work", key: "w", needs: "webhooks", show: (place) => <Webhooks id={place.parts[1]} /> },
  { path: "keys", title: "Keys", icon: "keys", group: "work", key: "k", needs: "keys", show: () => <Keys /> },
  { path: "policies", title: "Policies", icon: "policies", group: "work", key: "l", show: () => <Policies /> },
];

/** The page of an address. */
export function pageAt(place: Place): ComponentChildren {
  const [first = "", second, third] = place.parts;
  if (first === "name" && second && third) return <NamePage key={`${second}:${third}`} namespace={second} value={third} />;
  if (first === "entity" && second && third) {
    const scope = place.query.scope;
    return <EntityPage key={`${second}/${third}?${scope}`} entity={{ type: second, id: third }} scope={scope} />;
  }
  const page = menu.find((item) => item.path === first);
  return page ? page.show(place) : <NoSuchPage />;
}

/** The title of an address, for the browser's tab. */
export function titleAt(place: Place): string {
  const [first = "", second = "", third = ""] = place.parts;
  if (first === "name") return `${second}:${third}`;
  if (first === "entity") return `${second}/${third}`;
  return menu.find((item) => item.path === first)?.title ?? "Not found";
}

function NoSuchPage() {
  return (
    <div class="page">
      <h1 class="hidden">Not found</h1>
      <Empty title="There is no such page">
        <p>Press <kbd>/</kbd> to search for a name, or go to the <a href="#/">overview</a>.</p>
      </Empty>
    </div>
  );
}
