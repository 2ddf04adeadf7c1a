import "./timeline.css";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Span } from "./spans";
import { dateInWords } from "./Time";

/** One row of a timeline: an owner of a name, or a name of an owner. */
export interface Lane {
  label: string;
  href?: string | undefined;
  spans: Span[];
}

interface Props {
  lanes: Lane[];
  from: number;
  to: number;
  label: string;
  /** A moment that is marked. */
  mark?: number | undefined;
  onPick?: (time: number) => void;
}

const laneHeight = 34;
const axisHeight = 26;
const labelWidth = 150;
const minWidth = 4;

/** Who had what and when, as a picture. A click asks about that moment; the events below it say the same in words. */
export function Timeline({ lanes, from, to, label, mark, onPick }: Props) {
  const space = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(800);
  useEffect(() => {
    if (!space.current) return;
    const resized = new ResizeObserver(([entry]) => entry && setWidth(Math.max(280, Math.floor(entry.contentRect.width))));
    resized.observe(space.current);
    return () => resized.disconnect();
  }, []);
  const start = width < 560 ? 0 : labelWidth;
  const row = start === 0 ? laneHeight + 16 : laneHeight;
  const x = (time: number) => start + ((time - from) / Math.max(1, to - from)) * (width - start);
  const height = lanes.length * row + axisHeight;
  const pick = (e: MouseEvent) => {
    const left = space.current?.getBoundingClientRect().left ?? 0;
    const share = (e.clientX - left - start) / (width - start);
    if (share >= 0 && share <= 1) onPick?.(from + share * (to - from));
  };
  return (
    <div ref={space} class="timeline">
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the date field beside it does the same by keyboard */}
      <svg width={width} height={height} role="img" aria-label={label} onClick={pick}>
        <defs>
          <pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
            <rect width="6" height="6" class="hatch-ground" /><rect width="2" height="6" class="hatch-line" />
          </pattern>
        </defs>
        {ticks(from, to, Math.floor((width - start) / 110)).map((time) => (
          <g key={time} class="tick">
            <line x1={x(time)} x2={x(time)} y1={0} y2={height - axisHeight} />
            <text x={Math.min(Math.max(x(time), start + 36), width - 36)} y={height - 8}>{tickText(time, to - from)}</text>
          </g>
        ))}
        {lanes.map((lane, i) => (
          <g key={lane.label} transform={`translate(0 ${i * row})`}>
            <text class="lane" x={0} y={start === 0 ? 13 : laneHeight / 2 + 4}>{cut(lane.label, start === 0 ? 44 : 20)}</text>
            <line class="rail" x1={start} x2={width} y1={row - laneHeight / 2} y2={row - laneHeight / 2} />
            {lane.spans.map((span) => <Bar key={span.event.revision ?? span.from} span={span} y={row - laneHeight + 7} left={x(span.from)} right={x(span.to)} />)}
          </g>
        ))}
        {mark !== undefined && mark >= from && mark <= to && <line class="mark" x1={x(mark)} x2={x(mark)} y1={0} y2={height - axisHeight} />}
      </svg>
    </div>
  );
}

function Bar({ span, y, left, right }: { span: Span; y: number; left: number; right: number }) {
  const words = `${span.state}, ${dateInWords(new Date(span.from).toISOString())} to ${span.open ? "now" : dateInWords(new Date(span.to).toISOString())}`;
  const width = Math.max(minWidth, right - left);
  return (
    <g class={`bar ${span.state}`}>
      <title>{words}</title>
      <rect x={left} y={y} width={width} height={laneHeight - 14} rx={Math.min(4, width / 2)} />
      {width > 64 && <text x={left + 8} y={y + 14}>{span.state}</text>}
    </g>
  );
}

/** About `count` moments on round dates. */
function ticks(from: number, to: number, count: number): number[] {
  const minute = 60_000, hour = 60 * minute, day = 24 * hour;
  const steps = [1000, 5000, 15_000, minute, 5 * minute, 15 * minute, hour, 3 * hour, 6 * hour, day, 7 * day, 30 * day, 91 * day, 365 * day, 5 * 365 * day];
  const step = steps.find((size) => (to - from) / size <= Math.max(2, count)) ?? 10 * 365 * day;
  const zone = new Date(from).getTimezoneOffset() * minute;
  const first = Math.ceil((from - zone) / step) * step + zone;
  return Array.from({ length: Math.max(0, Math.floor((to - first) / step) + 1) }, (_, i) => first + i * step);
}

const minutes = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const seconds = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const days = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const months = new Intl.DateTimeFormat(undefined, { month: "short", year: "numeric" });

function tickText(time: number, span: number): string {
  const day = 86_400_000;
  const format = span < 600_000 ? seconds : span < 2 * day ? minutes : span < 300 * day ? days : months;
  return format.format(time);
}

function cut(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}
