import type { Webhook } from "@calldibs/client/operator";
import { useState } from "preact/hooks";
import { link } from "../../app/router";
import { operator } from "../../data/api";
import { useResource } from "../../data/resource";
import { Card } from "../../parts/Card";
import { Empty } from "../../parts/Empty";
import { Problem } from "../../parts/Problem";
import { Time } from "../../parts/Time";
import { NewWebhook } from "./NewWebhook";
import { WebhookPage } from "./WebhookPage";

/** All webhooks, or one of them. */
export function Webhooks({ id }: { id: string | undefined }) {
  return id ? <WebhookPage key={id} id={id} /> : <WebhookList />;
}

function WebhookList() {
  const list = useResource("webhooks", (signal) => operator.webhooks({ signal }), { everyMs: 10_000 });
  const [making, setMaking] = useState(false);
  const button = <button type="button" class="button" onClick={() => setMaking(true)}>New webhook</button>;
  return (
    <div class="page">
      <header><h1>Webhooks</h1><div class="end">{button}</div><p>Where the server sends events: signed, in order, with retries.</p></header>
      <Problem error={list.error} />
      <Card title="Webhooks">
        {list.value?.length === 0 && <Empty title="No webhooks"><p>A webhook sends every change to a URL of yours, so that other systems know who has which name.</p></Empty>}
        {list.value && list.value.length > 0 && <Table webhooks={list.value} />}
      </Card>
      {making && <NewWebhook onClose={() => setMaking(false)} onDone={list.reload} />}
    </div>
  );
}

function Table({ webhooks }: { webhooks: Webhook[] }) {
  return (
    <div class="scroll">
      <table>
        <thead><tr><th scope="col">URL</th><th scope="col">Namespaces</th><th scope="col">Kinds</th><th scope="col">State</th><th scope="col">Made</th></tr></thead>
        <tbody>
          {webhooks.map((webhook) => (
            <tr key={webhook.id}>
              <td><a class="name wrap" href={link(["webhooks", webhook.id])}>{webhook.url}</a>{webhook.description && <div class="soft small">{webhook.description}</div>}</td>
              <td class="name">{webhook.namespaces.join(", ")}</td>
              <td>{webhook.kinds?.length ? webhook.kinds.join(", ") : "all"}</td>
              <td><WebhookState webhook={webhook} /></td>
              <td class="soft"><Time at={webhook.createdAt} style="ago" />{webhook.createdBy && ` by ${webhook.createdBy}`}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Whether a webhook sends. */
export function WebhookState({ webhook }: { webhook: Webhook }) {
  if (webhook.stopped) return <span class="badge bad">stopped</span>;
  if (webhook.status?.pausedUntil) return <span class="badge suspect">retrying</span>;
  return <span class={webhook.enabled ? "badge active" : "badge"}>{webhook.enabled ? "sending" : "off"}</span>;
}
