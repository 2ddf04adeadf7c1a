import "uplot/uPlot.css";
import "./chart.css";
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { repaints } from "../app/theme";
import { number, shortNumber } from "./Badge";

/** One line of a chart. */
export interface Series {
  label: string;
  /** The name of a colour in tokens.css. */
  colour: string;
  fill?: boolean;
  values: number[];
}

const height = 220;

/** Lines over time, with their values under the pointer. */
export function Chart({ times, series, label }: { times: number[]; series: Series[]; label: string }) {
  const space = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const [at, setAt] = useState<number | undefined>(undefined);
  const look = `${repaints.value} ${series.map((s) => s.label + s.colour).join()}`;

  // New values are set below, without a new plot
  useEffect(() => {
    if (!space.current) return;
    const chart = new uPlot(options(space.current, series, setAt), [times, ...series.map((s) => s.values)], space.current);
    plot.current = chart;
    const resized = new ResizeObserver(([entry]) => entry && chart.setSize({ width: Math.floor(entry.contentRect.width), height }));
    resized.observe(space.current);
    return () => {
      resized.disconnect();
      chart.destroy();
    };
  }, [look]);
  useEffect(() => plot.current?.setData([times, ...series.map((s) => s.values)]), [times, series]);

  return (
    <figure class="chart">
      <div ref={space} role="img" aria-label={label} />
      <figcaption>
        {series.map((s) => (
          <span key={s.label}>
            <Swatch colour={s.colour} />
            {s.label} <b>{number(at === undefined ? s.values.reduce((a, b) => a + b, 0) : (s.values[at] ?? 0))}</b>
          </span>
        ))}
        <span class="when">{at === undefined || !times[at] ? "in total" : moment.format(times[at] * 1000)}</span>
      </figcaption>
    </figure>
  );
}

const moment = new Intl.DateTimeFormat(undefined, { weekday: "short", hour: "2-digit", minute: "2-digit" });

const hours = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const days = new Intl.DateTimeFormat(undefined, { weekday: "short", day: "numeric" });

function Swatch({ colour }: { colour: string }) {
  return <svg class="swatch" viewBox="0 0 10 10" aria-hidden="true"><rect width="10" height="10" rx="2.5" fill={`var(${colour})`} /></svg>;
}

function options(space: HTMLElement, series: Series[], setAt: (index: number | undefined) => void): uPlot.Options {
  const axis = { stroke: paint("--text-soft"), font: `11px ${getComputedStyle(space).fontFamily}`, ticks: { show: false } };
  return {
    width: space.clientWidth,
    height,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
    scales: { y: { range: (_, __, max) => [0, Math.max(4, max * 1.12)] } },
    axes: [
      { ...axis, grid: { show: false }, size: 26, space: 64, values: (_, ticks, __, ___, step) => ticks.map((time) => (step < 86_400 ? hours : days).format(time * 1000)) },
      { ...axis, grid: { stroke: paint("--line"), width: 1 }, size: 44, values: (_, ticks) => ticks.map((n) => (Number.isInteger(n) ? shortNumber(n) : "")) },
    ],
    series: [{}, ...series.map((s): uPlot.Series => ({
      stroke: paint(s.colour), width: 1.75, points: { show: false }, ...(s.fill && { fill: paint("--accent-soft") }),
    }))],
    hooks: { setCursor: [(chart) => setAt(chart.cursor.idx ?? undefined)] },
  };
}

/** A colour of tokens.css as a canvas understands it, in the present theme. */
function paint(token: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${token})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
