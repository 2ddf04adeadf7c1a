import { number } from "./Badge";

/** Numbers beside each other, each with a bar, the largest first. */
export function Meters({ of, what }: { of: [label: string, count: number][]; what: string }) {
  const most = Math.max(1, ...of.map(([, count]) => count));
  return (
    <ul class="lines">
      {of.map(([label, count]) => (
        <li key={label}>
          <span class="line">{label}</span>
          <meter class="end" min={0} max={most} value={count} aria-label={`${count} ${what}`} />
          <span class="figure">{number(count)}</span>
        </li>
      ))}
    </ul>
  );
}
