import { operator } from "../../data/api";
import { useReloadOnChange } from "../../data/feed";
import { useResource } from "../../data/resource";
import { may } from "../../data/session";
import { Card } from "../../parts/Card";
import { Countdown } from "../../parts/Countdown";
import { Empty } from "../../parts/Empty";
import { KeyLink } from "../../parts/Names";
import { Problem } from "../../parts/Problem";

const shown = 8;

/** Holds that end soonest, with running countdowns. */
export function EndingCard() {
  const holds = useResource("ending", (signal) => (may("list") ? operator.endingHolds({ limit: shown, signal }) : Promise.resolve([])), { everyMs: 5000 });
  useReloadOnChange(holds.reload, 1000);
  return (
    <Card title="Holds about to end" class="span-4 tall">
      {holds.error && !holds.value ? <div class="body"><Problem error={holds.error} /></div> : null}
      {holds.value?.length === 0 && <Empty title="No holds"><p>A reserved name shows here until it is confirmed, released or over.</p></Empty>}
      <ul class="lines">
        {holds.value?.map((name) => (
          <li key={name.reservationId}>
            <span class="line"><KeyLink namespace={name.namespace} canonical={name.canonical} /></span>
            <span class="end">{name.expiresAt && <Countdown to={name.expiresAt} />}</span>
          </li>
        ))}
      </ul>
    </Card>
  );
}
