import { useState } from "preact/hooks";
import { explain, operator } from "../../data/api";
import { Dialog } from "../../parts/Dialog";
import { tell } from "../../parts/toasts";

/** Asks before a key is revoked. */
export function RevokeKey({ name, onClose, onDone }: { name: string; onClose: () => void; onDone: () => void }) {
  const [error, setError] = useState<unknown>(undefined);
  const revoke = async () => {
    setError(undefined);
    try {
      await operator.revokeKey(name);
      tell(`${name} is revoked.`);
      onClose();
      onDone();
    } catch (problem) {
      setError(problem);
    }
  };
  return (
    <Dialog title={`Revoke ${name}`} onClose={onClose}>
      <ul class="words">
        <li><span>Calls with this key will be refused, within five seconds on all servers.</span></li>
        <li><span>Its streams and its sessions in browsers will end.</span></li>
        <li><span>Names that it holds stay held until their time is over.</span></li>
      </ul>
      {error ? <p class="problem" role="alert">{explain(error)}</p> : null}
      <div class="row ends">
        <button type="button" class="button" onClick={onClose}>Cancel</button>
        <button type="button" class="button danger" onClick={() => void revoke()}>Revoke</button>
      </div>
    </Dialog>
  );
}
