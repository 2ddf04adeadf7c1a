import type { Name } from "@calldibs/client";
import { ActionButtons } from "../../actions/ActionButtons";
import { settle } from "../../actions/ofName";
import { scopeOf } from "../../app/router";
import { dibs } from "../../data/api";
import { useReloadOnChange } from "../../data/feed";
import { useResource } from "../../data/resource";
import { may } from "../../data/session";
import { Card } from "../../parts/Card";
import { Empty } from "../../parts/Empty";
import { EntityLink, KeyLink } from "../../parts/Names";
import { Pager, usePages } from "../../parts/Pager";
import { Problem } from "../../parts/Problem";
import { Time } from "../../parts/Time";

/** Holds that ended before their witness knew whether the owner was saved, and a decision about each. */
export function Suspects() {
  const pages = usePages();
  const page = useResource(`suspects ${pages.cursor}`, (signal) => dibs.list({ state: "suspect", limit: 50, signal, ...(pages.cursor && { cursor: pages.cursor }) }), { everyMs: 10_000 });
  useReloadOnChange(page.reload, 1000, (event) => event.after?.state === "suspect" || event.before?.state === "suspect");
  const names = page.value?.names ?? [];
  return (
    <div class="page">
      <header>
        <h1>Suspects</h1>
        <p>Each of these holds ended before its witness could say whether the owner was saved. The name stays taken until the witness knows, or you decide.</p>
      </header>
      <Problem error={page.error} />
      <Card title="Waiting for a decision" end={<Pager pages={pages} nextCursor={page.value?.nextCursor} />}>
        {page.value && names.length === 0 && <Empty title="Nothing waits"><p>Only namespaces whose policy has a witness have suspects. Those that the witness settles by itself never need you.</p></Empty>}
        {names.length > 0 && <Table names={names} onDone={page.reload} />}
      </Card>
    </div>
  );
}

function Table({ names, onDone }: { names: Name[]; onDone: () => void }) {
  return (
    <div class="scroll">
      <table>
        <thead><tr><th scope="col">Name</th><th scope="col">Owner-to-be</th><th scope="col">Hold ended</th><th scope="col">Why it waits</th><th scope="col">Asked</th><th scope="col"><span class="hidden">Decide</span></th></tr></thead>
        <tbody>
          {names.map((name) => (
            <tr key={name.reservationId}>
              <td><span class="line limit"><KeyLink namespace={name.namespace} canonical={name.canonical} /></span></td>
              <td>{name.entity ? <EntityLink entity={name.entity} scope={scopeOf(name.namespace)} /> : <span class="soft">unknown</span>}</td>
              <td class="soft">{name.expiresAt && <Time at={name.expiresAt} style="ago" />}</td>
              <td class="wrap">{name.doubt ?? <span class="soft">its witness was not asked yet</span>}</td>
              <td class="soft">{name.asked ?? 0} times{name.askAt && <>, next <Time at={name.askAt} style="ago" /></>}</td>
              <td class="number">{may("settle", name.namespace) && <ActionButtons small actions={[settle(name)]} onDone={onDone} />}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
