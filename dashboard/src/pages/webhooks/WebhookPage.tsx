import type { DeadLetter, Webhook } from "@calldibs/client/operator";
import { useState } from "preact/hooks";
import { explain, operator } from "../../data/api";
import { useResource } from "../../data/resource";
import { number } from "../../parts/Badge";
import { Card } from "../../parts/Card";
import { Empty } from "../../parts/Empty";
import { Pager, usePages } from "../../parts/Pager";
import { Problem } from "../../parts/Problem";
import { Time } from "../../parts/Time";
import { tell } from "../../parts/toasts";
import { WebhookState } from "./Webhooks";

/** One webhook: how its deliveries go, and the events that its receiver did not accept. */
export function WebhookPage({ id }: { id: string }) {
  const webhook = useResource(`webhook ${id}`, (signal) => operator.webhook(id, { signal }), { everyMs: 3000 });
  const pages = usePages();
  const letters = useResource(`letters ${id} ${pages.cursor}`, (signal) => operator.deadLetters(id, { limit: 50, signal, ...(pages.cursor && { cursor: pages.cursor }) }), { everyMs: 10_000 });
  const [error, setError] = useState<unknown>(undefined);
  const run = async (work: () => Promise<string>) => {
    setError(undefined);
    try {
      tell(await work());
    } catch (problem) {
      setError(problem);
    }
    webhook.reload();
    letters.reload();
  };
  const hook = webhook.value;
  const list = letters.value?.deadLetters ?? [];
  return (
    <div class="page">
      <header>
        <h1 class="title">{hook?.url ?? id}</h1>
        {hook && <WebhookState webhook={hook} />}
        {hook && <div class="end"><Buttons hook={hook} run={run} /></div>}
      </header>
      <Problem error={webhook.error ?? error} />
      {hook && <Status hook={hook} />}
      <Card title="Dead letters" end={<><Pager pages={pages} nextCursor={letters.value?.nextCursor} />{list.length > 0 && <button type="button" class="button small" onClick={() => void run(() => resendAll(id))}>Send all again</button>}</>}>
        {letters.error ? <div class="body"><Problem error={letters.error} /></div> : null}
        {letters.value && list.length === 0 && <Empty title="No dead letters"><p>An event that the receiver did not accept in time is kept here, until it is sent again or removed.</p></Empty>}
        {list.length > 0 && <Letters letters={list} resend={(letter) => void run(() => resend(id, letter))} />}
      </Card>
    </div>
  );
}

function Buttons({ hook, run }: { hook: Webhook; run: (work: () => Promise<string>) => Promise<void> }) {
  const test = async () => {
    const attempt = await operator.testWebhook(hook.id);
    return attempt.delivered ? `The receiver accepted a test event, in ${attempt.tookMs} ms.` : `The receiver did not accept it: ${attempt.error ?? attempt.status}`;
  };
  const toggle = async () => {
    await operator.changeWebhook(hook.id, { enabled: !hook.enabled });
    return hook.enabled ? "Events wait in the feed now." : "Events are sent again.";
  };
  return (
    <>
      <button type="button" class="button" onClick={() => void run(test)}>Send a test</button>
      <button type="button" class="button" onClick={() => void run(toggle)}>{hook.enabled ? "Turn off" : "Turn on"}</button>
    </>
  );
}

function Status({ hook }: { hook: Webhook }) {
  const { status } = hook;
  if (!status) return null;
  return (
    <Card title="Deliveries">
      <dl class="facts body">
        <dt>Delivered</dt><dd>{number(status.delivered)}{status.lastSuccess && <span class="soft">, last <Time at={status.lastSuccess} style="ago" /></span>}</dd>
        <dt>Failed attempts</dt><dd>{number(status.failed)}{status.lastFailure && <span class="soft">, last <Time at={status.lastFailure} style="ago" /></span>}</dd>
        {status.lastError && <><dt>Last error</dt><dd>{status.lastError}</dd></>}
        <dt>Not sent yet</dt><dd>{number(status.behind)}{status.more ? " and more" : ""}{status.oldestAt && <span class="soft">, the oldest from <Time at={status.oldestAt} style="ago" /></span>}</dd>
        {status.pausedUntil && <><dt>Next attempt</dt><dd><Time at={status.pausedUntil} style="ago" /></dd></>}
        <dt>Dead letters</dt><dd>{number(status.deadLetters)}</dd>
        {hook.stopped && <><dt>Stopped</dt><dd>{hook.stopped}</dd></>}
        <dt>Namespaces</dt><dd class="name">{hook.namespaces.join(", ")}</dd>
      </dl>
    </Card>
  );
}

function Letters({ letters, resend }: { letters: DeadLetter[]; resend: (letter: string) => void }) {
  return (
    <div class="scroll">
      <table>
        <thead><tr><th scope="col">Event</th><th scope="col">Where</th><th scope="col">Happened</th><th scope="col">Given up</th><th scope="col">Why</th><th scope="col"><span class="hidden">Send again</span></th></tr></thead>
        <tbody>
          {letters.map((letter) => (
            <tr key={letter.id}>
              <td>{letter.kind}</td>
              <td class="name">{letter.where}</td>
              <td class="soft"><Time at={letter.eventAt} /></td>
              <td class="soft"><Time at={letter.deadAt} style="ago" />, after {letter.attempts} attempts</td>
              <td class="wrap">{letter.lastError}</td>
              <td class="number"><button type="button" class="button small" onClick={() => resend(letter.id)}>Send again</button></td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

async function resend(id: string, letter: string): Promise<string> {
  const attempt = await operator.resendDeadLetter(id, letter);
  return attempt.delivered ? "The receiver accepted it." : `The receiver did not accept it: ${attempt.error ?? attempt.status ?? ""}`;
}

async function resendAll(id: string): Promise<string> {
  const { delivered, left, failed } = await operator.resendDeadLetters(id);
  return `${number(delivered)} delivered, ${number(left)} left${failed ? `: ${failed.error ?? explain(failed)}` : ""}.`;
}
