import type { TargetedKeyboardEvent } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Hit } from "./finder";

/** A list under a text field, from which the arrow keys choose. */
export interface Chooser {
  chosen: number;
  setChosen: (index: number) => void;
  onKeyDown: (e: TargetedKeyboardEvent<HTMLInputElement>) => void;
}

/** Lets the arrow keys and Enter choose one of the hits. */
export function useChooser(hits: Hit[], onRun: (hit: Hit) => void): Chooser {
  const [chosen, setChosen] = useState(0);
  const ids = hits.map((hit) => hit.id).join();
  // Other hits begin at the first again
  useEffect(() => setChosen(0), [ids]);
  const onKeyDown = (e: TargetedKeyboardEvent<HTMLInputElement>) => {
    const step = e.key === "ArrowDown" ? 1 : e.key === "ArrowUp" ? -1 : 0;
    if (step && hits.length) {
      e.preventDefault();
      setChosen((chosen + step + hits.length) % hits.length);
    }
    const hit = hits[chosen];
    if (e.key === "Enter" && hit) {
      e.preventDefault();
      onRun(hit);
    }
  };
  return { chosen, setChosen, onKeyDown };
}

interface Props {
  id: string;
  hits: Hit[];
  chooser: Chooser;
  onRun: (hit: Hit) => void;
}

/** The hits under a text field. */
export function HitList({ id, hits, chooser, onRun }: Props) {
  return (
    <ul class="hits" id={id} role="listbox" aria-label="Results">
      {hits.map((hit, i) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the text field has the focus and handles keys
        <li
          key={hit.id} id={`${id}-${i}`} role="option" tabIndex={-1} aria-selected={i === chooser.chosen}
          onMouseEnter={() => chooser.setChosen(i)} onMouseDown={(e) => e.preventDefault()} onClick={() => onRun(hit)}
        >
          <span class="kind">{hit.kind}</span>
          <bdi class={hit.kind === "page" || hit.kind === "command" ? "cut" : "cut mono"}>{hit.title}</bdi>
          <span class="detail cut">{hit.detail}</span>
        </li>
      ))}
    </ul>
  );
}
