interface Props<T extends string> {
  label: string;
  options: readonly (readonly [T, string])[];
  value: T;
  onChange: (value: T) => void;
}

/** A choice of one of a few views. */
export function Choice<T extends string>({ label, options, value, onChange }: Props<T>) {
  return (
    <fieldset class="tabs">
      <legend class="hidden">{label}</legend>
      {options.map(([option, text]) => (
        <button type="button" key={option} aria-pressed={option === value} onClick={() => onChange(option)}>{text}</button>
      ))}
    </fieldset>
  );
}
