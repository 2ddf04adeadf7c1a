import { useState } from "preact/hooks";
import { explain } from "../../data/api";
import { may } from "../../data/session";
import { Card } from "../../parts/Card";
import { SelectField } from "../../parts/Field";
import { race, type RaceState } from "./run";

interface Props {
  namespace: string;
  value: string;
  namespaces: string[];
  onNamespace: (namespace: string) => void;
}

/** A hundred callers for one name, drawn as it happens. */
export function Race({ namespace, value, namespaces, onNamespace }: Props) {
  const [state, setState] = useState<RaceState | undefined>(undefined);
  const running = state !== undefined && state.tookMs === undefined;
  const allowed = may("reserve", namespace) && may("release", namespace);
  return (
    <Card title="Race for it" class="span-6">
      <div class="body stack">
        <div class="row race-start">
          <SelectField label="Namespace" value={namespace} onChange={onNamespace} options={namespaces.map((name) => [name, name] as const)} />
          <button type="button" class="button main" disabled={running || !allowed} onClick={() => void race(namespace, value, setState)}>Let 100 callers race</button>
        </div>
        <div class="runners" aria-hidden="true">
          {(state?.runners ?? new Array<"waiting">(100).fill("waiting")).map((runner, i) => <i key={i} class={runner} />)}
        </div>
        <p role="status" class="result">{allowed ? result(state, value) : "Your key has no right to reserve here."}</p>
      </div>
    </Card>
  );
}

function result(state: RaceState | undefined, value: string): string {
  if (!state) return "Each dot is a caller with its own token. One of them gets the name.";
  const count = (runner: string) => state.runners.filter((r) => r === runner).length;
  const answered = 100 - count("waiting") - count("running");
  if (state.tookMs === undefined) return `${answered} of 100 have an answer…`;
  if (count("failed") > 0) return `${count("failed")} of 100 failed: ${explain(state.error)}`;
  const time = `in ${Math.round(state.tookMs)} ms`;
  return count("won") === 1 ? `One winner, 99 refused, ${time}. Never two.` : `Nobody got ${value}: it is taken. 100 refused, ${time}.`;
}
