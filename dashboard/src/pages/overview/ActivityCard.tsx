import type { Activity } from "@calldibs/client";
import { useMemo, useState } from "preact/hooks";
import { operator } from "../../data/api";
import { useReloadOnChange } from "../../data/feed";
import { useResource } from "../../data/resource";
import { number } from "../../parts/Badge";
import { Card } from "../../parts/Card";
import { Chart, type Series } from "../../parts/Chart";
import { Problem } from "../../parts/Problem";
import { Choice } from "../../parts/Tabs";

type Bucket = "minute" | "hour";

const sizes = { minute: 60_000, hour: 3_600_000 };
const spans = { minute: 60, hour: 7 * 24 };

/** Reservations, confirmations and refusals over time. */
export function ActivityCard() {
  const [bucket, setBucket] = useState<Bucket>("minute");
  const activity = useResource(`activity ${bucket}`, (signal) => operator.activity({ bucket, signal }), { everyMs: 10_000 });
  useReloadOnChange(activity.reload, 3000);
  const data = useMemo(() => activity.value && toSeries(activity.value, bucket), [activity.value, bucket]);
  const choice = <Choice label="Span" value={bucket} onChange={setBucket} options={[["minute", "Last hour"], ["hour", "Last week"]]} />;
  return (
    <Card title={bucket === "minute" ? "Activity per minute" : "Activity per hour"} class="span-8" end={choice}>
      <div class="body chart-space">
        {activity.error && !data ? <Problem error={activity.error} /> : null}
        {data && <Chart times={data.times} series={data.series} label={summary(data.series, bucket)} />}
      </div>
    </Card>
  );
}

/** Every bucket of the span, also those without activity. */
function toSeries(activity: Activity, bucket: Bucket): { times: number[]; series: Series[] } {
  const size = sizes[bucket];
  const last = Math.floor(Date.parse(activity.to) / size);
  const first = last - spans[bucket] + 1;
  const times = Array.from({ length: spans[bucket] }, (_, i) => ((first + i) * size) / 1000);
  const count = (...kinds: string[]) => {
    const values = new Array<number>(times.length).fill(0);
    for (const { start, counts } of activity.buckets) {
      const at = Math.floor(Date.parse(start) / size) - first;
      if (at >= 0 && at < values.length) values[at] = (values[at] ?? 0) + kinds.reduce((sum, kind) => sum + (counts[kind] ?? 0), 0);
    }
    return values;
  };
  return {
    times,
    series: [
      { label: "Reserved", colour: "--accent-mid", fill: true, values: count("reserved") },
      { label: "Confirmed", colour: "--accent", values: count("confirmed", "claimed") },
      { label: "Refused", colour: "--warn", values: count("refused") },
    ],
  };
}

function summary(series: Series[], bucket: Bucket): string {
  const sums = series.map(({ label, values }) => `${number(values.reduce((a, b) => a + b, 0))} ${label.toLowerCase()}`);
  return `${bucket === "minute" ? "In the last hour" : "In the last week"}: ${sums.join(", ")}`;
}
