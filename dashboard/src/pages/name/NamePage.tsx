import "./name.css";
import { useState } from "preact/hooks";
import { ActionButtons } from "../../actions/ActionButtons";
import { actionsOf } from "../../actions/ofName";
import { dibs } from "../../data/api";
import { useReloadOnChange } from "../../data/feed";
import { useResource } from "../../data/resource";
import { may } from "../../data/session";
import { StateBadge } from "../../parts/Badge";
import { Card } from "../../parts/Card";
import { EventTable } from "../../parts/EventTable";
import { Problem } from "../../parts/Problem";
import { HolderQuestion } from "./HolderQuestion";
import { Life } from "./Life";
import { NameFacts } from "./NameFacts";
import { NotTaken } from "./NotTaken";

/** Everything about one name: what it is now, and its life. */
export function NamePage({ namespace, value }: { namespace: string; value: string }) {
  const name = useResource(`name ${namespace}:${value}`, (signal) => dibs.name(namespace, value, { signal }));
  const history = useResource(`history ${namespace}:${value}`, async (signal) => (may("history", namespace) ? await dibs.history(namespace, value, { signal }) : { events: [] }));
  const [moment, setMoment] = useState<number | undefined>(undefined);
  const reload = () => {
    name.reload();
    history.reload();
  };
  const canonical = name.value?.canonical;
  useReloadOnChange(reload, 500, (event) => event.namespace === namespace && (event.canonical === canonical || event.canonical === value));
  const events = history.value?.events;
  return (
    <div class="page">
      <header>
        <h1 class="title"><span class="soft">{namespace}:</span><bdi>{canonical || value}</bdi></h1>
        {name.value && <StateBadge state={name.value.state} />}
        {name.value && <div class="end"><ActionButtons actions={actionsOf(name.value)} onDone={reload} /></div>}
      </header>
      <Problem error={name.error} />
      {!name.loading && !name.error && !name.value && <NotTaken namespace={namespace} value={value} />}
      {name.value && (
        <>
          <Card title="Its life" end={<HolderQuestion namespace={namespace} value={value} moment={moment} onMoment={setMoment} />}>
            <div class="body life">{events && <Life events={events} name={name.value} mark={moment} onPick={setMoment} />}</div>
          </Card>
          <div class="grid">
            <NameFacts name={name.value} asked={value} />
            <Card title="History" class="span-7" footer={history.value?.nextCursor && "Older events are in the API: history, with nextCursor."}>
              <Problem error={history.error} />
              {events && <EventTable events={events.toReversed()} about="name" />}
            </Card>
          </div>
        </>
      )}
    </div>
  );
}
