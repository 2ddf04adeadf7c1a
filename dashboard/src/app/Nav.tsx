import { useEffect, useRef } from "preact/hooks";
import { may, session } from "../data/session";
import { stats } from "../data/stats";
import { Count } from "../parts/Badge";
import { Icon } from "../parts/Icon";
import { type Page, menu } from "./pages";
import { link, place } from "./router";

/** The menu. On narrow screens it opens over the page. */
export function Nav({ open, onLeave }: { open: boolean; onLeave: () => void }) {
  const ref = useRef<HTMLElement>(null);
  useEffect(() => {
    if (!open) return;
    ref.current?.querySelector("a")?.focus();
    const leave = (e: Event) => {
      const outside = e instanceof MouseEvent && !ref.current?.contains(e.target as Node);
      if (outside || (e instanceof KeyboardEvent && e.key === "Escape")) onLeave();
    };
    addEventListener("click", leave, true);
    addEventListener("keydown", leave);
    return () => {
      removeEventListener("click", leave, true);
      removeEventListener("keydown", leave);
    };
  }, [open, onLeave]);
  return (
    <aside class="side" ref={ref} data-open={open || undefined}>
      <a class="brand" href="#/"><Logo />Dibs</a>
      <nav class="nav" aria-label="Menu">
        <Group title="Look" pages={menu.filter((page) => page.group === "look")} />
        <Group title="Work" pages={menu.filter((page) => page.group === "work")} />
      </nav>
      <footer>
        <span class="wrap">{session.value.principal ?? "on this machine, without a key"}</span>
        <a href="/docs/">API documentation</a>
      </footer>
    </aside>
  );
}

function Group({ title, pages }: { title: string; pages: Page[] }) {
  const shown = pages.filter((page) => !page.needs || may(page.needs));
  if (shown.length === 0) return null;
  return (
    <div>
      <h2>{title}</h2>
      <ul>{shown.map((page) => <li key={page.path}><Item page={page} /></li>)}</ul>
    </div>
  );
}

function Item({ page }: { page: Page }) {
  const current = (place.value.parts[0] ?? "") === page.path;
  return (
    <a href={link(page.path ? [page.path] : [])} aria-current={current ? "page" : undefined}>
      <Icon name={page.icon} />
      {page.title}
      {page.path === "suspects" && <Count of={stats.value?.suspects ?? 0} label="wait for a decision" />}
    </a>
  );
}

function Logo() {
  return (
    <svg viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" fill="var(--accent)" />
      <path d="M9 8h7.2c4.9 0 8.3 3.2 8.3 8s-3.4 8-8.3 8H9z" fill="none" stroke="var(--on-accent)" stroke-width="3" stroke-linejoin="round" />
      <circle cx="15" cy="16" r="2.4" fill="var(--on-accent)" />
    </svg>
  );
}
