import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

interface Props {
  label: string;
  value: string;
  onInput: (value: string) => void;
  type?: string;
  placeholder?: string;
  hint?: ComponentChildren;
  wrong?: string | undefined;
  required?: boolean;
  list?: readonly string[];
  autoFocus?: boolean;
  mono?: boolean;
}

/** A line of text with its label, a hint, and what is wrong with it. */
export function TextField(props: Props) {
  const id = useId();
  const { label, value, onInput, hint, wrong, list } = props;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id} value={value} onInput={(e) => onInput(e.currentTarget.value)} type={props.type ?? "text"} placeholder={props.placeholder ?? ""}
        required={props.required ?? false} autocomplete="off" spellcheck={false} dir="auto" class={props.mono ? "mono" : ""}
        aria-describedby={hint || wrong ? `${id}-hint` : undefined} aria-invalid={wrong ? true : undefined}
        list={list ? `${id}-list` : undefined} autofocus={props.autoFocus ?? false}
      />
      {list && <datalist id={`${id}-list`}>{list.map((option) => <option key={option} value={option} />)}</datalist>}
      {(hint || wrong) && <span id={`${id}-hint`} class={wrong ? "wrong" : "hint"}>{wrong ?? hint}</span>}
    </div>
  );
}

interface SelectProps<T extends string> {
  label: string;
  value: T;
  onChange: (value: T) => void;
  options: readonly (readonly [T, string])[];
}

/** A choice from a list. */
export function SelectField<T extends string>({ label, value, onChange, options }: SelectProps<T>) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={(e) => onChange(e.currentTarget.value as T)}>
        {options.map(([option, text]) => <option key={option} value={option}>{text}</option>)}
      </select>
    </div>
  );
}
