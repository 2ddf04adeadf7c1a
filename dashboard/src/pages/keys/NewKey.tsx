import type { Key } from "@calldibs/client/operator";
import { useState } from "preact/hooks";
import { explain, operator } from "../../data/api";
import { Code } from "../../parts/Code";
import { Dialog } from "../../parts/Dialog";
import { TextField } from "../../parts/Field";

const words = (text: string) => text.split(/[\s,]+/).filter(Boolean);

/** Makes a key, and shows its secret, once. */
export function NewKey({ onClose, onDone }: { onClose: () => void; onDone: () => void }) {
  const [name, setName] = useState("");
  const [verbs, setVerbs] = useState("read");
  const [namespaces, setNamespaces] = useState("*");
  const [error, setError] = useState<unknown>(undefined);
  const [made, setMade] = useState<Key | undefined>(undefined);
  const make = async (e: Event) => {
    e.preventDefault();
    setError(undefined);
    try {
      setMade(await operator.createKey({ name: name.trim(), grants: [{ verbs: words(verbs), namespaces: words(namespaces) }] }));
    } catch (problem) {
      setError(problem);
    }
  };
  const close = () => {
    onClose();
    if (made) onDone();
  };
  if (made) {
    return (
      <Dialog title={`The secret of ${made.name}`} onClose={close}>
        <p>Give it to the program that calls with it. It is shown only now.</p>
        <Code text={made.secret ?? ""} label="Secret" />
        <div class="row ends"><button type="button" class="button main" onClick={close}>I have kept it</button></div>
      </Dialog>
    );
  }
  return (
    <Dialog title="New key" onClose={close}>
      <form class="stack" onSubmit={(e) => void make(e)}>
        <TextField label="Name" value={name} onInput={setName} placeholder="checkout" autoFocus mono required />
        <TextField label="May" value={verbs} onInput={setVerbs} hint="read, watch, hold, own, operate, all, or single verbs." mono required />
        <TextField label="In" value={namespaces} onInput={setNamespaces} hint="* is everywhere, acme.* the scope acme, slug one namespace." mono required />
        {error ? <p class="problem" role="alert">{explain(error)}</p> : null}
        <div class="row ends">
          <button type="button" class="button" onClick={close}>Cancel</button>
          <button type="submit" class="button main">Make it</button>
        </div>
      </form>
    </Dialog>
  );
}
