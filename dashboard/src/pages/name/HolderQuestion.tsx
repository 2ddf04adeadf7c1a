import { useId } from "preact/hooks";
import { dibs, explain } from "../../data/api";
import { useResource } from "../../data/resource";
import { may } from "../../data/session";
import { EntityLink } from "../../parts/Names";
import { scopeOf } from "../../app/router";

interface Props {
  namespace: string;
  value: string;
  moment: number | undefined;
  onMoment: (moment: number | undefined) => void;
}

/** "Who had it then?": a date, and the answer. */
export function HolderQuestion({ namespace, value, moment, onMoment }: Props) {
  const id = useId();
  const holder = useResource(`holder ${moment}`, async (signal) => (moment === undefined ? undefined : await dibs.whoHeld(namespace, value, new Date(moment), { signal })));
  if (!may("history", namespace)) return null;
  const { value: answer, error } = holder;
  return (
    <div class="row question">
      <label for={id}>Who had it then?</label>
      <input
        id={id} type="datetime-local" step="1" value={moment === undefined ? "" : localText(moment)}
        onChange={(e) => onMoment(e.currentTarget.value ? new Date(e.currentTarget.value).getTime() : undefined)}
      />
      <span role="status" class="answer">
        {moment === undefined ? "Choose a date, or click the picture" : error ? explain(error) : !answer ? "…" : answer.state === "free" ? "It was free" : answer.entity ? <>{answer.state === "active" ? "" : `${answer.state}, `}<EntityLink entity={answer.entity} scope={scopeOf(namespace)} /></> : `${answer.state}, without an owner`}
      </span>
    </div>
  );
}

/** A moment as a field of type datetime-local writes it, in the viewer's zone. */
function localText(moment: number): string {
  return new Date(moment - new Date(moment).getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}
