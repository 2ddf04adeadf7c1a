import { now } from "../data/clock";

/** The time that is left until `to`, running. Screen readers do not hear it tick: the exact end is its title. */
export function Countdown({ to }: { to: string }) {
  const left = Math.max(0, Date.parse(to) - now.value);
  return <time dateTime={to} title={to} role="timer" aria-live="off">{left === 0 ? "over" : clockText(left)}</time>;
}

/** "4:07", "1:02:03", "3 d 4 h". */
function clockText(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  const [d, h, m, s] = [Math.floor(seconds / 86_400), Math.floor(seconds / 3600) % 24, Math.floor(seconds / 60) % 60, seconds % 60];
  const two = (n: number) => String(n).padStart(2, "0");
  if (d > 0) return `${d} d ${h} h`;
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
}
