import type { Result } from "@calldibs/client";
import { useEffect, useState } from "preact/hooks";
import { dibs, explain } from "../data/api";
import { Dialog } from "../parts/Dialog";
import { SelectField, TextField } from "../parts/Field";
import { tell } from "../parts/toasts";
import type { Action, Field, Values } from "./action";
import { inWords } from "./words";

interface Props {
  action: Action;
  onClose: () => void;
  onDone: () => void;
}

/** Asks for what an action needs, says in words what it will do, and then does it. */
export function ActionDialog({ action, onClose, onDone }: Props) {
  const [values, setValues] = useState<Values>(() => Object.fromEntries(action.fields.map((field) => [field.name, field.initial ?? ""])));
  const [preview, setPreview] = useState<Result | undefined>(undefined);
  const [error, setError] = useState<unknown>(undefined);
  const [busy, setBusy] = useState(false);

  const run = async (dryRun: boolean) => {
    setBusy(true);
    setError(undefined);
    try {
      const { results } = await dibs.apply([action.command(values)], { dryRun });
      if (dryRun) setPreview(results[0]);
      else {
        tell(`Done: ${action.title.charAt(0).toLowerCase()}${action.title.slice(1)}.`);
        onClose();
        onDone();
      }
    } catch (problem) {
      setPreview(undefined);
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  // Only an action without fields is tried at once, when it opens
  useEffect(() => {
    if (action.fields.length === 0) void run(true);
  }, []);
  const change = (name: string, value: string) => {
    setValues({ ...values, [name]: value });
    setPreview(undefined);
  };
  const submit = (e: Event) => {
    e.preventDefault();
    void run(preview === undefined);
  };
  return (
    <Dialog title={action.title} onClose={onClose}>
      <form class="stack" onSubmit={submit}>
        {action.fields.map((field, i) => <Input key={field.name} field={field} first={i === 0} value={values[field.name] ?? ""} onChange={(value) => change(field.name, value)} />)}
        <div role="status" aria-live="polite" class="stack">
          {preview && <Preview results={preview} />}
        </div>
        {error ? <p class="problem" role="alert">{explain(error)}</p> : null}
        <div class="row ends">
          <button type="button" class="button" onClick={onClose}>Cancel</button>
          <button type="submit" class={preview && action.dangerous ? "button danger" : "button main"} disabled={busy}>{preview ? action.confirm : "See what happens"}</button>
        </div>
      </form>
    </Dialog>
  );
}

function Preview({ results }: { results: Parameters<typeof inWords>[0] }) {
  return (
    <div class="stack">
      <p>This will happen:</p>
      <ul class="words">{inWords(results).map((words, i) => <li key={i}><span>{words}</span></li>)}</ul>
    </div>
  );
}

function Input({ field, value, first, onChange }: { field: Field; value: string; first: boolean; onChange: (value: string) => void }) {
  if (field.options) return <SelectField label={field.label} value={value} onChange={onChange} options={field.options} />;
  return (
    <TextField
      label={field.label} value={value} onInput={onChange} autoFocus={first} mono type={field.secret ? "password" : "text"}
      {...(field.hint && { hint: field.hint })} {...(field.placeholder && { placeholder: field.placeholder })}
    />
  );
}
