import type { ServerInfo } from "@calldibs/client/operator";
import type { ComponentChildren } from "preact";
import { operator } from "../../data/api";
import { now } from "../../data/clock";
import { useResource } from "../../data/resource";
import { Card } from "../../parts/Card";
import { Problem } from "../../parts/Problem";
import { duration, Time } from "../../parts/Time";

/** Lag from which a number is a warning. */
const lateMs = 60_000;

/** Engine, version, clock, and how far background work is behind. */
export function ServerCard() {
  const server = useResource("server", (signal) => operator.server({ signal }), { everyMs: 5000 });
  return (
    <Card title="Server" class="span-7 low">
      <div class="body">
        {server.error && !server.value ? <Problem error={server.error} /> : null}
        {server.value && <Facts server={server.value} />}
      </div>
    </Card>
  );
}

function Facts({ server }: { server: ServerInfo }) {
  const { sweeper, feed, webhooks } = server;
  return (
    <dl class="server">
      <Fact label="Version">{server.version || "development"}</Fact>
      <Fact label="Clock"><Time at={new Date(now.value).toISOString()} style="clock" /></Fact>
      <Fact label="Up since">{server.startedAt && <Time at={server.startedAt} style="ago" />}</Fact>
      {server.stores.map((store) => (
        <Fact key={store.store} label={server.stores.length > 1 ? `Store ${store.store}` : "Engine"} bad={!store.reads || !store.writes}>
          {store.engine}{!store.reads ? ": does not answer" : !store.writes ? ": cannot be written to" : ""}{store.cause ? ` (${store.cause})` : ""}
        </Fact>
      ))}
      <Fact label="Sweeper" bad={(sweeper?.lagMs ?? 0) > lateMs}>{lag(sweeper?.lagMs)}</Fact>
      <Fact label="Feed" bad={(feed?.lagMs ?? 0) > lateMs}>{lag(feed?.lagMs)}</Fact>
      <Fact label="Webhooks" bad={(webhooks?.lagMs ?? 0) > lateMs}>{webhooks?.enabled === false ? "off" : lag(webhooks?.lagMs)}</Fact>
    </dl>
  );
}

function lag(ms: number | undefined): string {
  return ms ? `${duration(ms)} behind` : "up to date";
}

function Fact({ label, bad = false, children }: { label: string; bad?: boolean; children: ComponentChildren }) {
  return <div class={bad ? "warn" : ""}><dt>{label}</dt><dd>{children}</dd></div>;
}
