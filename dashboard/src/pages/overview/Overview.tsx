import "./overview.css";
import { may } from "../../data/session";
import { loadStats, stats, statsProblem } from "../../data/stats";
import { useReloadOnChange } from "../../data/feed";
import { Empty } from "../../parts/Empty";
import { Problem } from "../../parts/Problem";
import { ActivityCard } from "./ActivityCard";
import { ContestedCard } from "./ContestedCard";
import { EndingCard } from "./EndingCard";
import { Figures } from "./Figures";
import { NamespacesCard } from "./NamespacesCard";
import { ServerCard } from "./ServerCard";
import { SuspectsCard } from "./SuspectsCard";

/** What goes on in the registry, live. */
export function Overview() {
  useReloadOnChange(() => void loadStats(), 1000);
  if (!may("stats")) return <Restricted />;
  const empty = stats.value?.names.length === 0;
  return (
    <div class="page">
      <header><h1>Overview</h1></header>
      <Problem error={statsProblem.value} />
      {empty && <FirstSteps />}
      <Figures />
      <div class="grid">
        <ActivityCard />
        <EndingCard />
        <NamespacesCard />
        <ContestedCard />
        <SuspectsCard />
        <ServerCard />
      </div>
    </div>
  );
}

function FirstSteps() {
  return (
    <div class="card">
      <Empty title="No names yet">
        <p>Reserve the first one: the playground shows what a name becomes, lets a hundred callers race for it, and has the call to copy.</p>
        <div class="row"><a class="button main" href="#/playground">Open the playground</a><a class="button" href="/docs/">Read the API</a></div>
      </Empty>
    </div>
  );
}

/** For a caller that may look up names, but not count them. */
function Restricted() {
  return (
    <div class="page">
      <header><h1>Overview</h1></header>
      <div class="card">
        <Empty title="Your key sees single names">
          <p>It has no right to counts. Press <kbd>/</kbd> and type a name, a key, a reservation id or an entity.</p>
        </Empty>
      </div>
    </div>
  );
}
