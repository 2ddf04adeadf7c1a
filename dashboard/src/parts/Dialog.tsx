import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";

interface Props {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  class?: string;
}

/** A window over the page. The browser keeps the focus in it, closes it with Escape, and gives the focus back. */
export function Dialog({ title, onClose, children, class: extra = "" }: Props) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  // Before the next key: what is typed right after a click belongs to the first field
  useLayoutEffect(() => {
    const dialog = ref.current;
    const before = document.activeElement;
    dialog?.showModal();
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog ref={ref} aria-labelledby={id} class={extra} onCancel={(e) => { e.preventDefault(); onClose(); }}>
      <div class="inside">
        <h2 id={id}>{title}</h2>
        {children}
      </div>
    </dialog>
  );
}
