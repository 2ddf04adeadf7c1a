import "./playground.css";
import { useState } from "preact/hooks";
import { place, setQuery } from "../../app/router";
import { operator } from "../../data/api";
import { useResource } from "../../data/resource";
import { may } from "../../data/session";
import { namespaces } from "../../data/stats";
import { Card } from "../../parts/Card";
import { TextField } from "../../parts/Field";
import { CheckCard } from "./CheckCard";
import { Race } from "./Race";
import { Snippets } from "./Snippets";

/** Namespaces that every server understands, for one that has no names yet. They come before those that the policies add, so that the choice stays when these arrive. */
const usual = ["slug", "username", "email", "hostname"];
const shown = 6;

/** What a name becomes in each namespace, whether it can be had, and a race for it. */
export function Playground() {
  const { value = "", namespace = "" } = place.value.query;
  const policies = useResource("policies", (signal) => operator.policies({ signal }));
  const [chosen, setChosen] = useState(namespace);
  const known = (policies.value?.policies ?? []).map((policy) => policy.namespace).filter((name) => name !== "*" && !name.includes("*"));
  const all = [...new Set([...(namespace ? [namespace] : []), ...namespaces.value, ...usual, ...known])].filter((name) => may("check", name)).slice(0, shown);
  const target = all.includes(chosen) ? chosen : (all[0] ?? "slug");
  const text = value || "Alice & Bob";
  return (
    <div class="page">
      <header><h1>Playground</h1><p>Type a name. Nothing is reserved until you race for it, and the winner of a race gives the name back.</p></header>
      <div class="play-input">
        <TextField label="Name" value={value} onInput={(typed) => setQuery({ value: typed })} placeholder="Alice & Bob" autoFocus />
      </div>
      <div class="checks">{all.map((name) => <CheckCard key={name} namespace={name} value={text} onTry={(typed) => setQuery({ value: typed })} />)}</div>
      <div class="grid">
        <Race namespace={target} value={text} namespaces={all} onNamespace={setChosen} />
        <Card title="The same call" class="span-6"><div class="body"><Snippets namespace={target} value={text} /></div></Card>
      </div>
    </div>
  );
}
