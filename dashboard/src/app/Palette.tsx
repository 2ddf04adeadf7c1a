import { useMemo, useState } from "preact/hooks";
import { Dialog } from "../parts/Dialog";
import { commands, type Hit, useFinder } from "./finder";
import { HitList, useChooser } from "./HitList";
import { overlay } from "./shortcuts";

/** Every page, command and name by keyboard: Ctrl K. */
export function Palette() {
  const [text, setText] = useState("");
  const found = useFinder(text);
  const hits = useMemo(() => [...commands(text), ...(found.value ?? [])], [text, found.value]);
  const close = () => {
    overlay.value = undefined;
  };
  const run = (hit: Hit) => {
    close();
    hit.run();
  };
  const chooser = useChooser(hits, run);
  return (
    <Dialog title="Commands" onClose={close} class="palette">
      <input
        type="text" role="combobox" aria-label="A page, a command, a name or an entity" placeholder="Go to a page, a name or an entity" autofocus
        aria-expanded aria-controls="palette-hits" aria-autocomplete="list" autocomplete="off" spellcheck={false} dir="auto"
        aria-activedescendant={hits.length ? `palette-hits-${chooser.chosen}` : undefined}
        value={text} onInput={(e) => setText(e.currentTarget.value)} onKeyDown={chooser.onKeyDown}
      />
      <HitList id="palette-hits" hits={hits} chooser={chooser} onRun={run} />
      {hits.length === 0 && <p class="none" role="status">{found.loading ? "Searching…" : "Nothing found."}</p>}
    </Dialog>
  );
}
