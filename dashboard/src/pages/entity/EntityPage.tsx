import type { Entity, Name } from "@calldibs/client";
import { ActionButtons } from "../../actions/ActionButtons";
import { actionsOfEntity } from "../../actions/ofEntity";
import { dibs } from "../../data/api";
import { useReloadOnChange } from "../../data/feed";
import { useResource } from "../../data/resource";
import { StateBadge } from "../../parts/Badge";
import { Card } from "../../parts/Card";
import { Empty } from "../../parts/Empty";
import { NameLink } from "../../parts/Names";
import { Problem } from "../../parts/Problem";
import { Time } from "../../parts/Time";
import { EntityLife } from "./EntityLife";

/** An owner of names: those it has, those that lead to it, and its life. */
export function EntityPage({ entity, scope }: { entity: Entity; scope: string | undefined }) {
  const info = useResource(`entity ${scope} ${entity.type}/${entity.id}`, (signal) => dibs.entity(entity, { signal, ...(scope && { scope }) }));
  const mine = (other: Entity | undefined) => other?.type === entity.type && other.id === entity.id;
  useReloadOnChange(info.reload, 500, (event) => mine(event.entity) || mine(event.before?.entity) || mine(event.after?.entity));
  const names = info.value?.names ?? [];
  const active = names.filter((name) => name.state === "active");
  return (
    <div class="page">
      <header>
        <h1 class="title"><bdi>{entity.type}/{entity.id}</bdi></h1>
        {info.value && <span class={info.value.archived ? "badge suspect" : "badge active"}>{info.value.archived ? "archived" : "in use"}</span>}
        {info.value && <span class="soft">version {info.value.version}{scope ? `, scope ${scope}` : ""}</span>}
        {info.value && <div class="end"><ActionButtons actions={actionsOfEntity(info.value, scope ?? "")} onDone={info.reload} /></div>}
      </header>
      <Problem error={info.error} />
      {!info.loading && !info.error && !info.value && (
        <div class="card"><Empty title="No such entity"><p>It never had a name here{scope ? ` in the scope ${scope}` : ""}. An entity of a scope needs its scope: search for one of its names.</p></Empty></div>
      )}
      {info.value && (
        <>
          <Card title="Its life"><div class="body life"><EntityLife entity={entity} names={names} /></div></Card>
          <Card title="Names" footer={info.value.more && "There are more: see its namespaces."}>
            {names.length === 0 ? <Empty title="No names"><p>It has given up every name it had.</p></Empty> : <NameTable names={names} active={active} archived={info.value.archived} />}
          </Card>
        </>
      )}
    </div>
  );
}

function NameTable({ names, active, archived }: { names: Name[]; active: Name[]; archived: boolean }) {
  return (
    <div class="scroll">
      <table>
        <thead><tr><th scope="col">Namespace</th><th scope="col">Name</th><th scope="col">State</th><th scope="col">Leads to</th><th scope="col">Since</th><th scope="col">Until</th></tr></thead>
        <tbody>
          {names.map((name) => (
            <tr key={name.reservationId}>
              <td class="name">{name.namespace}</td>
              <td><span class="line limit-wide"><NameLink namespace={name.namespace} value={name.canonical} /></span></td>
              <td><StateBadge state={name.state} /></td>
              <td>{leadsTo(name, active, archived)}</td>
              <td class="soft">{(name.confirmedAt ?? name.createdAt) && <Time at={name.confirmedAt ?? name.createdAt ?? ""} />}</td>
              <td class="soft">{endOf(name)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** When the state of a name ends. Only a hold ends at `expiresAt`: afterwards that is the end of the hold that the name once was. */
function endOf(name: Name) {
  if (name.state === "active") return "–";
  const end = name.state === "held" ? name.expiresAt : name.until;
  if (end) return <Time at={end} />;
  return name.state === "alias" ? "for good" : "–";
}

function leadsTo(name: Name, active: Name[], archived: boolean) {
  if (archived) return <span class="soft">nothing: archived</span>;
  if (name.state === "active") return "the entity";
  if (name.state !== "alias") return <span class="soft">–</span>;
  const targets = active.filter((other) => other.namespace === name.namespace);
  const [target] = targets;
  if (!target || targets.length > 1) return "the name that replaced it";
  return <>→ <NameLink namespace={target.namespace} value={target.canonical} /></>;
}
