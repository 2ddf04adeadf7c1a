import type { Activity, ActivityBucket } from "@calldibs/client";
import { useMemo, useState } from "preact/hooks";
import { dibs } from "../../data/api";
import { useReloadOnChange } from "../../data/feed";
import { useResource } from "../../data/resource";
import { number } from "../../parts/Badge";
import { Card } from "../../parts/Card";
import { Chart, type Series } from "../../parts/Chart";
import { Problem } from "../../parts/Problem";
import { Choice } from "../../parts/Choice";

type Bucket = "minute" | "hour";

const sizes = { minute: 60_000, hour: 3_600_000 };
const spans = { minute: 60, hour: 7 * 24 };

/** A registry that is new shows at least so many buckets, and not an hour of nothing. */
const least = 15;

/** Reservations, confirmations and refusals over time. */
export function ActivityCard() {
  const [bucket, setBucket] = useState<Bucket>("minute");
  const activity = useResource(`activity ${bucket}`, (signal) => dibs.activity({ bucket, signal }), { everyMs: 10_000 });
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

/** Every bucket from the first activity of the span on, also those without any. */
function toSeries(activity: Activity, bucket: Bucket): { times: number[]; series: Series[] } {
  const size = sizes[bucket];
  const last = Math.floor(Date.parse(activity.to) / size);
  const earliest = Math.min(last - least + 1, ...activity.buckets.map((part) => Math.floor(Date.parse(part.start) / size)));
  const first = Math.max(last - spans[bucket] + 1, earliest);
  const times = Array.from({ length: last - first + 1 }, (_, i) => ((first + i) * size) / 1000);
  const sum = (count: (bucket: ActivityBucket) => number) => {
    const values = new Array<number>(times.length).fill(0);
    for (const part of activity.buckets) {
      const at = Math.floor(Date.parse(part.start) / size) - first;
      if (at >= 0 && at < values.length) values[at] = (values[at] ?? 0) + count(part);
    }
    return values;
  };
  return {
    times,
    series: [
      { label: "Reserved", colour: "--accent-mid", fill: true, values: sum(({ events }) => events.reserved ?? 0) },
      { label: "Confirmed", colour: "--accent", values: sum(({ events }) => (events.confirmed ?? 0) + (events.claimed ?? 0)) },
      { label: "Refused", colour: "--warn", values: sum(({ refused }) => refused) },
    ],
  };
}

function summary(series: Series[], bucket: Bucket): string {
  const sums = series.map(({ label, values }) => `${number(values.reduce((a, b) => a + b, 0))} ${label.toLowerCase()}`);
  return `${bucket === "minute" ? "In the last hour" : "In the last week"}: ${sums.join(", ")}`;
}
