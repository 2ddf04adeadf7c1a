import type { Policies as PolicyList, ServerInfo } from "@calldibs/client";
import { operator } from "../../data/api";
import { useResource } from "../../data/resource";
import { Card } from "../../parts/Card";
import { Empty } from "../../parts/Empty";
import { Problem } from "../../parts/Problem";

/** What is in force: policies, routes and limits. They are changed in the server's file. */
export function Policies() {
  const policies = useResource("policies", (signal) => operator.policies({ signal }));
  const server = useResource("server", (signal) => operator.server({ signal }));
  return (
    <div class="page">
      <header><h1>Policies</h1><p>What this server goes by. Its configuration file sets it; SIGHUP reads policies again.</p></header>
      <Problem error={policies.error} />
      {policies.value?.policies.length === 0 && <div class="card"><Empty title="No policies of its own"><p>Every namespace has the default policy.</p></Empty></div>}
      {policies.value?.policies.map((policy) => <Policy key={policy.namespace} policy={policy} />)}
      {server.value && <Routes server={server.value} />}
      {server.value?.limits && <Limits limits={server.value.limits} />}
    </div>
  );
}

function Policy({ policy }: { policy: PolicyList["policies"][number] }) {
  const title = policy.namespace === "*" ? "All other namespaces" : policy.namespace;
  const differs = new Set(policy.differs);
  return (
    <Card title={<span class="name">{title}</span>} end={<span class="soft small">profile {policy.profile}{differs.size > 0 && `, ${differs.size} ${differs.size === 1 ? "setting differs" : "settings differ"} from the default`}</span>}>
      <dl class="settings body">
        {Object.entries(policy.settings).map(([name, value]) => (
          <div key={name} class={differs.has(name) ? "differs" : ""}><dt>{name}</dt><dd>{value}{differs.has(name) && <span class="hidden"> (differs from the default)</span>}</dd></div>
        ))}
      </dl>
    </Card>
  );
}

function Routes({ server }: { server: ServerInfo }) {
  return (
    <Card title="Routes">
      <div class="scroll">
        <table>
          <thead><tr><th scope="col">Store</th><th scope="col">Engine</th><th scope="col">Scopes</th><th scope="col">State</th></tr></thead>
          <tbody>
            {server.stores.map((store) => (
              <tr key={store.store}>
                <td class="name">{store.store}</td><td>{store.engine}</td>
                <td class="name">{store.scopes?.length ? store.scopes.join(", ") : "all others"}</td>
                <td>{store.writes ? <span class="badge active">writable</span> : <span class="badge bad">{store.reads ? "only reads" : "gone"}</span>}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
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
