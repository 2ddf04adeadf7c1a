import { now } from "../data/clock";

const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const second = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit" });
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const formats = { exact, second, clock };
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "short" });

const units: [Intl.RelativeTimeFormatUnit, number][] = [
  ["year", 31_557_600], ["month", 2_629_800], ["day", 86_400], ["hour", 3600], ["minute", 60], ["second", 1],
];

/** A time in the viewer's zone; the exact one in UTC shows on hover. */
export function Time({ at, style = "exact" }: { at: string; style?: "ago" | keyof typeof formats }) {
  const date = new Date(at);
  const text = style === "ago" ? ago(date, now.value) : formats[style].format(date);
  return <time dateTime={at} title={at}>{text}</time>;
}

/** How far a date is from a moment: "3 min. ago", "in 2 days". */
export function ago(date: Date, from: number): string {
  const seconds = Math.round((date.getTime() - from) / 1000);
  const [unit, size] = units.find(([, size]) => Math.abs(seconds) >= size) ?? ["second", 1];
  return relative.format(Math.trunc(seconds / size), unit);
}

/** A date for a sentence. */
export function dateInWords(at: string): string {
  return exact.format(new Date(at));
}

/** How long something lasts: "5 min", "30 days". */
export function duration(ms: number): string {
  const steps: [string, number][] = [["day", 86_400_000], ["h", 3_600_000], ["min", 60_000], ["s", 1000], ["ms", 1]];
  for (const [unit, size] of steps) {
    if (ms >= size && (ms % size === 0 || ms >= 2 * size)) {
      const n = Math.round(ms / size);
      return unit === "day" ? `${n} ${n === 1 ? "day" : "days"}` : `${n} ${unit}`;
    }
  }
  return `${ms} ms`;
}
