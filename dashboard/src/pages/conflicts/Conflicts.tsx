import "./conflicts.css";
import type { ConflictBucket } from "@calldibs/client";
import { dibs } from "../../data/api";
import { useResource } from "../../data/resource";
import { Card } from "../../parts/Card";
import { Empty } from "../../parts/Empty";
import { Meters } from "../../parts/Meters";
import { Problem } from "../../parts/Problem";
import { ContestedCard } from "../overview/ContestedCard";
import { HeatMap } from "./HeatMap";
import { reasonText, sumsBy } from "./sums";

const days = 7;

/** Who did not get the name they wanted: when, why, and which. */
export function Conflicts() {
  const from = new Date(Date.now() - days * 86_400_000);
  const conflicts = useResource("conflicts", (signal) => dibs.conflicts({ from, signal }), { everyMs: 10_000 });
  const buckets = conflicts.value?.buckets ?? [];
  return (
    <div class="page">
      <header><h1>Conflicts</h1><p>Requests for a name that was taken, in quarantine, or looked like another one, in the last {days} days.</p></header>
      <Problem error={conflicts.error} />
      <Card title="By hour"><div class="body">
        {conflicts.value && buckets.length === 0 ? <Empty title="No conflicts"><p>Every caller got the name it asked for. The playground's race makes some.</p></Empty> : <HeatMap buckets={buckets} days={days} />}
      </div></Card>
      <div class="grid">
        <Sums title="By reason" buckets={buckets} by={(bucket) => reasonText(bucket.reason)} />
        <Sums title="By namespace" buckets={buckets} by={(bucket) => bucket.namespace} />
        <ContestedCard class="span-4" />
      </div>
    </div>
  );
}

function Sums({ title, buckets, by }: { title: string; buckets: ConflictBucket[]; by: (bucket: ConflictBucket) => string }) {
  const sums = sumsBy(buckets, by, 10);
  return (
    <Card title={title} class="span-4">
      {sums.length === 0 && <Empty title="None" />}
      <Meters of={sums} what="refusals" />
    </Card>
  );
}
