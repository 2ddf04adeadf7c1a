import "./search.css";
import { useEffect, useState } from "preact/hooks";
import { explain } from "../data/api";
import { Icon } from "../parts/Icon";
import { type Hit, useFinder } from "./finder";
import { HitList, useChooser } from "./HitList";
import { go, link } from "./router";

/** The one box for a name, a key, a reservation id or an entity. */
export function SearchBox() {
  const [text, setText] = useState("");
  const [open, setOpen] = useState(false);
  const found = useFinder(text);
  const hits = found.value ?? [];
  const leave = () => {
    setText("");
    setOpen(false);
    document.getElementById("search")?.blur();
  };
  const run = (hit: Hit) => {
    leave();
    hit.run();
  };
  const chooser = useChooser(hits, run);
  const [eager, setEager] = useState(false); // Enter was pressed before there was an answer
  useEffect(() => {
    if (!eager || found.loading) return;
    setEager(false);
    const [hit] = found.value ?? [];
    if (hit) run(hit);
  });
  const shown = open && text.trim() !== "";
  const keys = (e: Parameters<typeof chooser.onKeyDown>[0]) => {
    if (e.key === "Escape") leave();
    else if (e.key === "Enter" && found.loading) setEager(true);
    else if (e.key === "Enter" && hits.length === 0 && text.trim()) {
      leave();
      go(link(["names"], { prefix: text.trim() }));
    } else chooser.onKeyDown(e);
  };
  return (
    <search class="search">
      <Icon name="search" />
      <input
        id="search" type="text" role="combobox" aria-label="Search for a name, a key, a reservation id or an entity" placeholder="Search a name or its owner"
        aria-expanded={shown} aria-controls="search-hits" aria-autocomplete="list" autocomplete="off" spellcheck={false} dir="auto"
        aria-activedescendant={shown && hits.length ? `search-hits-${chooser.chosen}` : undefined}
        value={text} onInput={(e) => { setText(e.currentTarget.value); setOpen(true); }} onFocus={() => setOpen(true)} onBlur={() => setOpen(false)} onKeyDown={keys}
      />
      <kbd>/</kbd>
      <div class="drop" hidden={!shown}>
        <HitList id="search-hits" hits={hits} chooser={chooser} onRun={run} />
        <p class="none" role="status">{shown && hits.length === 0 && (found.error ? explain(found.error) : found.loading ? "Searching…" : "Nothing found. Enter looks for names that begin with it.")}</p>
      </div>
    </search>
  );
}
