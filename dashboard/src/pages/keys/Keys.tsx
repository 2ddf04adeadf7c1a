import type { Key } from "@calldibs/client/operator";
import { useState } from "preact/hooks";
import { operator } from "../../data/api";
import { useResource } from "../../data/resource";
import { Card } from "../../parts/Card";
import { Empty } from "../../parts/Empty";
import { Problem } from "../../parts/Problem";
import { Time } from "../../parts/Time";
import { NewKey } from "./NewKey";
import { RevokeKey } from "./RevokeKey";

/** The API keys: who may do what. */
export function Keys() {
  const keys = useResource("keys", (signal) => operator.keys({ signal }), { everyMs: 10_000 });
  const [making, setMaking] = useState(false);
  const [revoking, setRevoking] = useState<Key | undefined>(undefined);
  return (
    <div class="page">
      <header>
        <h1>Keys</h1>
        <div class="end"><button type="button" class="button" onClick={() => setMaking(true)}>New key</button></div>
        <p>The name of a key is the name of its caller in events. With the first key, every caller needs one.</p>
      </header>
      <Problem error={keys.error} />
      <Card title="Keys">
        {keys.value?.length === 0 && <Empty title="No keys yet"><p>Programs of this server's own user need none, on this machine. Make a key before you let others in.</p></Empty>}
        {keys.value && keys.value.length > 0 && <Table keys={keys.value} onRevoke={setRevoking} />}
      </Card>
      {making && <NewKey onClose={() => setMaking(false)} onDone={keys.reload} />}
      {revoking && <RevokeKey name={revoking.name} onClose={() => setRevoking(undefined)} onDone={keys.reload} />}
    </div>
  );
}

function Table({ keys, onRevoke }: { keys: Key[]; onRevoke: (key: Key) => void }) {
  return (
    <div class="scroll">
      <table>
        <thead><tr><th scope="col">Name</th><th scope="col">May</th><th scope="col">Made</th><th scope="col">Ends</th><th scope="col"><span class="hidden">Revoke</span></th></tr></thead>
        <tbody>
          {keys.map((key) => (
            <tr key={key.name}>
              <td class="name">{key.name}</td>
              <td>{key.grants.map((grant) => <div key={grant.verbs.join() + grant.namespaces.join()} class="wrap">{grant.verbs.join(", ")} <span class="soft">in</span> <span class="name">{grant.namespaces.join(", ")}</span></div>)}</td>
              <td class="soft">{key.createdAt ? <Time at={key.createdAt} style="ago" /> : "–"}{key.createdBy && ` by ${key.createdBy}`}</td>
              <td class="soft">{key.expiresAt ? <Time at={key.expiresAt} /> : "never"}</td>
              <td class="number">{key.declaredIn ? <span class="soft">in {key.declaredIn}</span> : <button type="button" class="button small" aria-label={`Revoke ${key.name}`} onClick={() => onRevoke(key)}>Revoke</button>}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
