import type { State } from "@calldibs/client";

/** How the names of a namespace are divided, as a bar. The numbers are beside it, so it says nothing to screen readers. */
export function StateBar({ parts }: { parts: { state: State; count: number }[] }) {
  const total = parts.reduce((sum, part) => sum + part.count, 0);
  let x = 0;
  return (
    <svg class="statebar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
      {parts.filter((part) => part.count > 0).map(({ state, count }) => {
        const width = (100 * count) / total;
        const from = x;
        x += width;
        return <rect key={state} class={`fill-${state}`} x={from} width={width} height="8" />;
      })}
    </svg>
  );
}
