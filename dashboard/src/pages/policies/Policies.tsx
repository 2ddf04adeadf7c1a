import type { PolicyInfo, ServerInfo } from "@calldibs/client/operator";
import { operator } from "../../data/api";
import { useResource } from "../../data/resource";
import { Card } from "../../parts/Card";
import { Problem } from "../../parts/Problem";
import { duration } from "../../parts/Time";

/** What is in force: policies, routes and limits. They are changed in the server's file. */
export function Policies() {
  const policies = useResource("policies", (signal) => operator.policies({ signal }));
  const server = useResource("server", (signal) => operator.server({ signal }));
  return (
    <div class="page">
      <header><h1>Policies</h1><p>What this server goes by. Its configuration file sets it; SIGHUP reads policies again.</p></header>
      <Problem error={policies.error} />
      {policies.value?.policies.map((policy) => <Policy key={policy.namespace} policy={policy} />)}
      {server.value && <Routes server={server.value} />}
      {server.value?.limits && <Limits limits={server.value.limits} />}
    </div>
  );
}

function Policy({ policy }: { policy: PolicyInfo }) {
  const title = policy.namespace === "*" ? "All other namespaces" : <span class="name">{policy.namespace}</span>;
  const all = settings(policy);
  const own = all.filter(([member]) => policy.differs.includes(member));
  const usual = all.filter(([member]) => !policy.differs.includes(member));
  if (policy.namespace === "*") return <Card title={title} end={<span class="soft small">the default</span>}><Settings of={all} /></Card>;
  return (
    <Card title={title} end={<span class="soft small">{own.length === 0 ? "as the default" : own.length === 1 ? "1 setting of its own" : `${own.length} settings of its own`}</span>}>
      {own.length > 0 && <Settings of={own} class="own" />}
      <details class="usual"><summary>As the default: {usual.length} settings</summary><Settings of={usual} /></details>
    </Card>
  );
}

type Setting = [member: keyof PolicyInfo, label: string, value: string];

function Settings({ of, class: extra = "" }: { of: Setting[]; class?: string }) {
  return <dl class={`settings body ${extra}`}>{of.map(([member, label, value]) => <div key={member}><dt>{label}</dt><dd>{value}</dd></div>)}</dl>;
}

/** The settings in the order in which a name meets them: member, label, value. */
function settings(policy: PolicyInfo): Setting[] {
  const yes = (is: boolean) => (is ? "yes" : "no");
  return [
    ["profile", "Profile", policy.profile],
    ["lookAlikes", "Look-alikes refused", yes(policy.lookAlikes)],
    ["reservedWords", "Reserved words", policy.reservedWords ? "refused; the configuration has the lists" : "none"],
    ["blind", "Values hashed", yes(policy.blind)],
    ["defaultTtlMs", "Hold", duration(policy.defaultTtlMs)],
    ["minTtlMs", "Shortest hold", duration(policy.minTtlMs)],
    ["maxTtlMs", "Longest hold", duration(policy.maxTtlMs)],
    ["maxHoldMs", "With extensions", duration(policy.maxHoldMs)],
    ["maxHolds", "Holds of a caller", policy.maxHolds ? String(policy.maxHolds) : "no bound"],
    ["witness", "Witness", policy.witness ? "asked; the configuration names it" : "none"],
    ["manyPerEntity", "Many names of an entity", yes(policy.manyPerEntity)],
    ["aliasRetentionMs", "Old names redirect", policy.aliasRetentionMs ? duration(policy.aliasRetentionMs) : "for good"],
    ["redirectStatus", "Redirect", String(policy.redirectStatus)],
    ["archivedStatus", "Archived", String(policy.archivedStatus)],
    ["quarantineMs", "Quarantine", policy.quarantineMs ? duration(policy.quarantineMs) : "none"],
    ["holdHistoryMs", "Hold history", duration(policy.holdHistoryMs)],
  ];
}

function Routes({ server }: { server: ServerInfo }) {
  return (
    <Card title="Routes">
      <ul class="lines">
        {server.stores.map((store) => (
          <li key={store.store}>
            <span class="line"><span class="name">{store.store}</span> <span class="soft">{store.engine}, {store.scopes?.length ? `scopes ${store.scopes.join(", ")}` : "all scopes without a route"}</span></span>
            {store.writes ? <span class="badge active">writable</span> : <span class="badge bad">{store.reads ? "only reads" : "gone"}</span>}
          </li>
        ))}
      </ul>
    </Card>
  );
}

function Limits({ limits }: { limits: Record<string, string> }) {
  return (
    <Card title="Limits">
      <dl class="settings body">{Object.entries(limits).map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>
    </Card>
  );
}
