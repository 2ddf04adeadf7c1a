import type { Availability } from "@calldibs/client";
import { dibs, explain } from "../../data/api";
import { useResource, useSettled } from "../../data/resource";
import { NameLink } from "../../parts/Names";
import { dateInWords } from "../../parts/Time";

const reasons: Record<string, string> = {
  held: "Held by another caller", in_use: "Taken", suspect: "Held, and in doubt", quarantined: "In quarantine", reserved_word: "A reserved word",
  invalid: "Not a valid name here", confusable: "Looks like another name",
};

/** What one namespace says to a name. */
export function CheckCard({ namespace, value, onTry }: { namespace: string; value: string; onTry: (value: string) => void }) {
  const settled = useSettled(value, 150);
  const check = useResource(`check ${namespace} ${settled}`, (signal) => dibs.check(namespace, settled, { suggest: 3, signal }));
  const answer = check.value;
  return (
    <section class={`check ${answer ? (answer.available ? "free" : "taken") : ""}`} aria-label={namespace}>
      <h2 class="name">{namespace}</h2>
      {check.error ? <p class="soft">{explain(check.error)}</p> : !answer ? <p class="soft">…</p> : <Answer namespace={namespace} answer={answer} onTry={onTry} />}
    </section>
  );
}

function Answer({ namespace, answer, onTry }: { namespace: string; answer: Availability; onTry: (value: string) => void }) {
  const offers = answer.available ? [] : [...new Set([...(answer.refusal?.try ? [answer.refusal.try] : []), ...(answer.suggestions ?? [])])].slice(0, 3);
  return (
    <>
      <p class="verdict">{answer.available ? "Can be had" : (reasons[answer.reason] ?? answer.reason)}</p>
      <p class="becomes">{answer.canonical ? <>becomes {answer.available ? <b class="name"><bdi>{answer.canonical}</bdi></b> : <NameLink namespace={namespace} value={answer.canonical} />}</> : <Place answer={answer} />}</p>
      {!answer.available && (answer.detail || answer.until) && <p class="soft small wrap">{answer.refusal ? inWords(answer.refusal.problem) : answer.until ? `until ${dateInWords(answer.until)}` : answer.detail}</p>}
      {offers.length > 0 && <p class="offers">{offers.map((offer) => <button key={offer} type="button" class="button small" onClick={() => onTry(offer)}><bdi class="name">{offer}</bdi></button>)}</p>}
    </>
  );
}

/** What a rule says, without the byte at which it refuses: the value has a mark there. */
const inWords = (problem: string) => problem.replace(/ at byte \d+/g, "");

/** The value with the place at which a rule refuses it. */
function Place({ answer }: { answer: Availability }) {
  if (answer.available || !answer.refusal || answer.refusal.at < 0) return <bdi class="name">{answer.value}</bdi>;
  const bytes = new TextEncoder().encode(answer.value);
  const before = new TextDecoder().decode(bytes.slice(0, answer.refusal.at));
  const [char = "", ...rest] = [...answer.value.slice(before.length)];
  return <bdi class="name">{before}<mark>{char || " "}</mark>{rest.join("")}</bdi>;
}
