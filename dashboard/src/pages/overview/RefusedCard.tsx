import { dibs } from "../../data/api";
import { useReloadOnChange } from "../../data/feed";
import { useResource } from "../../data/resource";
import { Card } from "../../parts/Card";
import { Empty } from "../../parts/Empty";
import { Meters } from "../../parts/Meters";
import { Problem } from "../../parts/Problem";
import { reasonText, sumsBy } from "../conflicts/sums";

const day = 86_400_000;

/** Where callers did not get the name that they wanted, and why, in the last day. */
export function RefusedCard() {
  const conflicts = useResource("refused", (signal) => dibs.conflicts({ from: new Date(Date.now() - day), signal }), { everyMs: 10_000 });
  useReloadOnChange(conflicts.reload, 5000);
  const buckets = conflicts.value?.buckets ?? [];
  return (
    <Card title="Refused in the last day" class="span-5 tall" end={<a href="#/conflicts">All conflicts</a>}>
      {conflicts.error && !conflicts.value ? <div class="body"><Problem error={conflicts.error} /></div> : null}
      {conflicts.value && buckets.length === 0 && <Empty title="No refusals"><p>Every caller got the name that it wanted.</p></Empty>}
      <Meters what="refusals" of={sumsBy(buckets, (bucket) => `${bucket.namespace}: ${reasonText(bucket.reason)}`, 8)} />
    </Card>
  );
}
