import { dibs } from "../../data/api";
import { useReloadOnChange } from "../../data/feed";
import { useResource } from "../../data/resource";
import { may } from "../../data/session";
import { Card } from "../../parts/Card";
import { Empty } from "../../parts/Empty";
import { KeyLink } from "../../parts/Names";

/** Suspects that wait for a decision. */
export function SuspectsCard() {
  const page = useResource("suspects", (signal) => (may("list") ? dibs.list({ state: "suspect", limit: 6, signal }) : Promise.resolve({ names: [] })), { everyMs: 10_000 });
  useReloadOnChange(page.reload, 2000, (event) => event.after?.state === "suspect" || event.before?.state === "suspect");
  const names = page.value?.names ?? [];
  return (
    <Card title="Suspects that wait" class="span-5 low" end={<a href="#/suspects">Settle</a>}>
      {page.value && names.length === 0 && <Empty title="Nothing waits"><p>A hold that ended before its witness knew whether the owner was saved shows here.</p></Empty>}
      <ul class="lines">
        {names.map((name) => (
          <li key={name.reservationId}>
            <span class="line"><KeyLink namespace={name.namespace} canonical={name.canonical} /></span>
            <span class="end soft line">{name.doubt ?? "not asked yet"}</span>
          </li>
        ))}
      </ul>
    </Card>
  );
}
