import { operator } from "../../data/api";
import { useReloadOnChange } from "../../data/feed";
import { useResource } from "../../data/resource";
import { number } from "../../parts/Badge";
import { Card } from "../../parts/Card";
import { Empty } from "../../parts/Empty";
import { KeyLink } from "../../parts/Names";
import { Problem } from "../../parts/Problem";
import { Time } from "../../parts/Time";

/** The names that callers asked this server for most often while they were taken, in the last day. */
export function ContestedCard({ class: extra = "span-5" }: { class?: string }) {
  const contested = useResource("contested", (signal) => operator.contested({ limit: 8, signal }), { everyMs: 10_000 });
  useReloadOnChange(contested.reload, 5000);
  const names = contested.value?.names ?? [];
  const most = Math.max(1, ...names.map(({ count }) => count));
  return (
    <Card title="Most fought over" class={`${extra} low`} footer={contested.value && <>Counted by this server since <Time at={contested.value.since} /></>}>
      {contested.error && !contested.value ? <div class="body"><Problem error={contested.error} /></div> : null}
      {contested.value && names.length === 0 && <Empty title="No refusals"><p>Every caller got the name that it wanted.</p></Empty>}
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
