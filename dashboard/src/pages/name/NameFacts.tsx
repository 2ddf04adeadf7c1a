import type { Name } from "@calldibs/client";
import type { ComponentChildren } from "preact";
import { scopeOf } from "../../app/router";
import { operator } from "../../data/api";
import { useResource } from "../../data/resource";
import { Card } from "../../parts/Card";
import { Countdown } from "../../parts/Countdown";
import { EntityLink } from "../../parts/Names";
import { Time } from "../../parts/Time";

/** What a name is now. */
export function NameFacts({ name, asked }: { name: Name; asked: string }) {
  const { expiresAt, until, entity } = name;
  return (
    <Card title="Now" class="span-5">
      <dl class="facts body">
        <Fact label={name.state === "quarantined" ? "Last owner" : name.state === "held" ? "Owner-to-be" : "Owner"}>
          {entity ? <EntityLink entity={entity} scope={scopeOf(name.namespace)} /> : <span class="soft">none</span>}
        </Fact>
        {name.state === "held" && expiresAt && <Fact label="Ends in"><Countdown to={expiresAt} /></Fact>}
        {until && <Fact label={name.state === "alias" ? "Redirects until" : "Reserved until"}><Time at={until} /></Fact>}
        {name.doubt && <Fact label="Doubt">{name.doubt}</Fact>}
        {name.askAt && <Fact label="Witness asked">{name.asked ?? 0} times, next <Time at={name.askAt} style="ago" /></Fact>}
        <Fact label="Written as"><bdi class="name">{name.value}</bdi></Fact>
        <Fact label="Canonical"><bdi class="name">{name.canonical}</bdi> <Why name={name} asked={asked} /></Fact>
        <Fact label="Reservation"><span class="name">{name.reservationId}</span> <span class="soft">({name.status})</span></Fact>
        <Fact label="Epoch">{name.epoch}</Fact>
        {name.createdAt && <Fact label="Epoch began"><Time at={name.createdAt} /></Fact>}
        {name.confirmedAt && <Fact label="Confirmed"><Time at={name.confirmedAt} /></Fact>}
        {name.endedAt && <Fact label="Ended"><Time at={name.endedAt} /></Fact>}
        {name.principal && <Fact label="Reserved by">{name.principal}</Fact>}
        {name.correlationId && <Fact label="Correlation"><bdi class="name">{name.correlationId}</bdi></Fact>}
        {Object.entries(name.meta ?? {}).map(([key, text]) => <Fact key={key} label={key}><bdi>{text}</bdi></Fact>)}
      </dl>
    </Card>
  );
}

function Fact({ label, children }: { label: string; children: ComponentChildren }) {
  return <><dt>{label}</dt><dd>{children}</dd></>;
}

/** Why the canonical form is what it is: the profile, and what it made of the value. */
function Why({ name, asked }: { name: Name; asked: string }) {
  const policies = useResource("policies", (signal) => operator.policies({ signal }));
  const type = name.namespace.slice(name.namespace.lastIndexOf(".") + 1);
  const all = policies.value?.policies ?? [];
  const policy = all.find((p) => p.namespace === name.namespace) ?? all.find((p) => p.namespace === type) ?? all.find((p) => p.namespace === "*");
  const changed = name.canonical !== name.value || name.canonical !== asked;
  if (!policy) return null;
  return <span class="soft">{changed ? `made by the profile ${policy.profile}` : `as written, by the profile ${policy.profile}`}</span>;
}
