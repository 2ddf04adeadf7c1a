import { operator } from "../../data/api";
import { useResource } from "../../data/resource";
import { number } from "../../parts/Badge";
import { Card } from "../../parts/Card";
import { Empty } from "../../parts/Empty";
import { KeyLink } from "../../parts/Names";
import { Problem } from "../../parts/Problem";

/** The names that were refused most often. */
export function ContestedCard() {
  const contested = useResource("contested", (signal) => operator.contested({ limit: 8, signal }), { everyMs: 10_000 });
  const names = contested.value?.names ?? [];
  const most = Math.max(1, ...names.map((n) => n.count));
  return (
    <Card title="Most fought over" class="span-5 tall" end={<a href="#/conflicts">All conflicts</a>}>
      {contested.error && !contested.value ? <div class="body"><Problem error={contested.error} /></div> : null}
      {contested.value && names.length === 0 && <Empty title="No refusals"><p>Names that callers wanted and did not get.</p></Empty>}
      <ul class="lines">
        {names.map(({ name, count }) => (
          <li key={name.reservationId}>
            <span class="line"><KeyLink namespace={name.namespace} canonical={name.canonical} /></span>
            <meter class="end" min={0} max={most} value={count} aria-label={`${count} refusals`} />
            <span class="figure">{number(count)}</span>
          </li>
        ))}
      </ul>
    </Card>
  );
}
