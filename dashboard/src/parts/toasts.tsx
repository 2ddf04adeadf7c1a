import { signal } from "@preact/signals";

const shown = signal<{ id: number; text: string }[]>([]);
let last = 0;

/** Says something for a few seconds, in a corner and to screen readers. */
export function tell(text: string): void {
  const id = ++last;
  shown.value = [...shown.value, { id, text }];
  setTimeout(() => {
    shown.value = shown.value.filter((toast) => toast.id !== id);
  }, 6000);
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {shown.value.map(({ id, text }) => <div key={id} class="toast">{text}</div>)}
    </div>
  );
}
