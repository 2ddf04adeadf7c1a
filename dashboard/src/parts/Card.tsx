import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

interface Props {
  title: ComponentChildren;
  /** What stands at the end of the title's line. */
  end?: ComponentChildren;
  class?: string;
  footer?: ComponentChildren;
  children: ComponentChildren;
}

/** A part of a page with a title. */
export function Card({ title, end, class: extra = "", footer, children }: Props) {
  const id = useId();
  return (
    <section class={`card ${extra}`} aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        {end && <div class="end">{end}</div>}
      </header>
      {children}
      {footer && <footer>{footer}</footer>}
    </section>
  );
}
