import "./names.css";
import type { Name, State } from "@calldibs/client";
import { place, scopeOf, setQuery } from "../../app/router";
import { dibs } from "../../data/api";
import { useReloadOnChange } from "../../data/feed";
import { useResource, useSettled } from "../../data/resource";
import { namespaces } from "../../data/stats";
import { StateBadge } from "../../parts/Badge";
import { Card } from "../../parts/Card";
import { Empty } from "../../parts/Empty";
import { SelectField, TextField } from "../../parts/Field";
import { EntityLink, NameLink } from "../../parts/Names";
import { Pager, usePages } from "../../parts/Pager";
import { Problem } from "../../parts/Problem";
import { Time } from "../../parts/Time";

const states: [State | "", string][] = [
  ["", "Any state"], ["active", "Active"], ["alias", "Alias"], ["held", "Held"], ["suspect", "Suspect"], ["quarantined", "Quarantined"], ["free", "Free"],
];
const perPage = 50;

/** All names, page by page. */
export function Names() {
  const { namespace = "", state = "", prefix = "" } = place.value.query;
  const pages = usePages();
  const settled = useSettled(prefix, 150);
  const page = useResource(`names ${namespace} ${state} ${settled} ${pages.cursor}`, (signal) => dibs.list({ namespace, prefix: settled, limit: perPage, signal, ...(state && { state: state as State }), ...(pages.cursor && { cursor: pages.cursor }) }));
  useReloadOnChange(page.reload, 2000);
  const filter = (change: Record<string, string>) => {
    pages.first();
    setQuery(change);
  };
  return (
    <div class="page">
      <header><h1>Names</h1></header>
      <div class="fields">
        <TextField label="Namespace" value={namespace} onInput={(value) => filter({ namespace: value })} list={namespaces.value.slice(0, 100)} placeholder="all namespaces" mono />
        <TextField label="Begins with" value={prefix} onInput={(value) => filter({ prefix: value })} placeholder="anything" mono />
        <SelectField label="State" value={state as State | ""} onChange={(value) => filter({ state: value })} options={states} />
      </div>
      <Problem error={page.error} />
      <Card title={pages.number === 1 ? "Names" : `Names, page ${pages.number}`} end={<Pager pages={pages} nextCursor={page.value?.nextCursor} />}>
        {page.value?.names.length === 0 && (
          <Empty title="No such names"><p>{namespace || prefix || state ? "Nothing fits all three fields: empty one of them." : "Reserve the first one in the playground."}</p></Empty>
        )}
        {page.value && page.value.names.length > 0 && <NameTable names={page.value.names} />}
        {!page.value && page.loading && <div class="placeholder" />}
      </Card>
    </div>
  );
}

function NameTable({ names }: { names: Name[] }) {
  return (
    <div class="scroll">
      <table>
        <thead><tr><th scope="col">Namespace</th><th scope="col">Name</th><th scope="col">State</th><th scope="col">Owner</th><th scope="col">Since</th></tr></thead>
        <tbody>
          {names.map((name) => (
            <tr key={name.reservationId}>
              <td class="name soft">{name.namespace}</td>
              <td><span class="line limit-wide"><NameLink namespace={name.namespace} value={name.canonical} /></span></td>
              <td><StateBadge state={name.state} /></td>
              <td><span class="line limit">{name.entity ? <EntityLink entity={name.entity} scope={scopeOf(name.namespace)} /> : <span class="soft">–</span>}</span></td>
              <td class="soft">{(name.confirmedAt ?? name.createdAt) && <Time at={name.confirmedAt ?? name.createdAt ?? ""} style="ago" />}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
