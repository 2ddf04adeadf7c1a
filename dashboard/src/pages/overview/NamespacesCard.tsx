import type { State } from "@calldibs/client";
import { link } from "../../app/router";
import { namespaces, stats } from "../../data/stats";
import { number } from "../../parts/Badge";
import { Card } from "../../parts/Card";
import { Empty } from "../../parts/Empty";
import { StateBar } from "../../parts/StateBar";

/** As many namespaces as an overview can show: the largest. */
const shown = 10;

const states: State[] = ["active", "alias", "held", "suspect", "quarantined"];

/** Names by namespace and state. */
export function NamespacesCard() {
  const all = namespaces.value;
  const counts = stats.value?.names ?? [];
  const count = (namespace: string, state: State) => counts.find((n) => n.namespace === namespace && n.state === state)?.count ?? 0;
  return (
    <Card title="Names by namespace" class="span-7 low" footer={all.length > shown && `and ${number(all.length - shown)} smaller namespaces`}>
      {stats.value && all.length === 0 && <Empty title="No namespaces"><p>A namespace is there as soon as a name is reserved in it.</p></Empty>}
      {all.length > 0 && (
        <div class="scroll">
          <table class="namespaces">
            <thead>
              <tr>
                <th scope="col">Namespace</th>
                {states.map((state) => <th scope="col" key={state} class="number">{state}</th>)}
                <th scope="col" aria-label="Share"></th>
              </tr>
            </thead>
            <tbody>
              {all.slice(0, shown).map((namespace) => (
                <tr key={namespace}>
                  <th scope="row"><a class="name" href={link(["names"], { namespace })}>{namespace}</a></th>
                  {states.map((state) => <td key={state} class={count(namespace, state) ? "number" : "number soft"}>{number(count(namespace, state))}</td>)}
                  <td><StateBar parts={states.map((state) => ({ state, count: count(namespace, state) }))} /></td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  );
}
