import type { ConflictBucket } from "@calldibs/client";
import { number } from "../../parts/Badge";

const hour = 3_600_000;
const weekday = new Intl.DateTimeFormat(undefined, { weekday: "short", day: "numeric", month: "short" });
const hours = Array.from({ length: 24 }, (_, i) => i);

/** Refusals by day and hour in the viewer's zone: the darker, the more. */
export function HeatMap({ buckets, days }: { buckets: ConflictBucket[]; days: number }) {
  const counts = new Map<number, number>();
  for (const { start, count } of buckets) {
    const at = Math.floor(Date.parse(start) / hour) * hour;
    counts.set(at, (counts.get(at) ?? 0) + count);
  }
  const most = Math.max(1, ...counts.values());
  const today = new Date().setHours(0, 0, 0, 0);
  const rows = Array.from({ length: days }, (_, i) => new Date(today).setDate(new Date(today).getDate() - (days - 1 - i)));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls on narrow screens, also by keyboard
    <div class="heat-space" tabIndex={0} role="region" aria-label="Refusals by hour">
      <table class="heat">
        <caption class="hidden">Refusals by day and hour</caption>
        <thead><tr><td></td>{hours.map((h) => <th scope="col" key={h}>{h % 3 === 0 ? String(h).padStart(2, "0") : <span class="hidden">{h}</span>}</th>)}</tr></thead>
        <tbody>
          {rows.map((day) => (
            <tr key={day}>
              <th scope="row">{weekday.format(day)}</th>
              {hours.map((h) => <Cell key={h} count={counts.get(Math.floor(new Date(day).setHours(h) / hour) * hour) ?? 0} most={most} future={new Date(day).setHours(h) > Date.now()} />)}
            </tr>
          ))}
        </tbody>
      </table>
      <p class="scale soft small">0 {[0, 1, 2, 3, 4].map((level) => <i key={level} class={`heat-${level}`} />)} {number(most)} an hour</p>
    </div>
  );
}

/** Five levels on a scale of roots, so that one busy hour does not hide the others. */
function Cell({ count, most, future }: { count: number; most: number; future: boolean }) {
  const level = count === 0 ? 0 : Math.max(1, Math.ceil(4 * Math.sqrt(count / most)));
  return <td title={`${number(count)} refusals`}><i class={future ? "heat-future" : `heat-${level}`} /><span class="hidden">{count}</span></td>;
}
