import type { Webhook } from "@calldibs/client/operator";
import { useState } from "preact/hooks";
import { explain, operator } from "../../data/api";
import { Code } from "../../parts/Code";
import { Dialog } from "../../parts/Dialog";
import { TextField } from "../../parts/Field";

/** Makes a webhook, and shows its secret, once. */
export function NewWebhook({ onClose, onDone }: { onClose: () => void; onDone: () => void }) {
  const [url, setURL] = useState("");
  const [namespaces, setNamespaces] = useState("*");
  const [error, setError] = useState<unknown>(undefined);
  const [made, setMade] = useState<Webhook | undefined>(undefined);
  const make = async (e: Event) => {
    e.preventDefault();
    try {
      setError(undefined);
      setMade(await operator.createWebhook({ url: url.trim(), namespaces: namespaces.split(/[\s,]+/).filter(Boolean) }));
      onDone();
    } catch (problem) {
      setError(problem);
    }
  };
  if (made) {
    return (
      <Dialog title="The secret of the webhook" onClose={onClose}>
        <p>Its receiver verifies signatures with it. It is shown only now.</p>
        <Code text={made.secret ?? ""} label="Secret" />
        <div class="row ends"><button type="button" class="button main" onClick={onClose}>I have kept it</button></div>
      </Dialog>
    );
  }
  return (
    <Dialog title="New webhook" onClose={onClose}>
      <form class="stack" onSubmit={(e) => void make(e)}>
        <TextField label="URL" value={url} onInput={setURL} placeholder="https://example.com/dibs" autoFocus mono required />
        <TextField label="Namespaces" value={namespaces} onInput={setNamespaces} hint="* is all, acme.* the scope acme; separate several by commas." mono />
        {error ? <p class="problem" role="alert">{explain(error)}</p> : null}
        <div class="row ends">
          <button type="button" class="button" onClick={onClose}>Cancel</button>
          <button type="submit" class="button main">Make it</button>
        </div>
      </form>
    </Dialog>
  );
}
