import { signal } from "@preact/signals";

/** The server's clock minus this machine's, in milliseconds. */
let offset = 0;

/** The present second by the server's clock. Components that show it tick. */
export const now = signal(Date.now());

/** The present time by the server's clock. */
export function serverNow(): number {
  return Date.now() + offset;
}

/** Learns the server's clock from the Date header of an answer, which is exact to a second. */
export function learnClock(date: string | null): void {
  const server = date ? Date.parse(date) : Number.NaN;
  if (Number.isNaN(server)) return;
  const difference = server + 500 - Date.now();
  if (Math.abs(difference - offset) > 1500) offset = difference;
  if (Math.abs(offset) < 1500) offset = 0;
}

setInterval(() => {
  if (!document.hidden) now.value = serverNow();
}, 1000);
