import { signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";

const themes: Theme[] = ["system", "light", "dark"];

export const theme = signal<Theme>(read());

/** Increases when colours change, for what is drawn and not styled. */
export const repaints = signal(0);

function read(): Theme {
  const kept = localStorage.getItem("theme");
  return themes.find((name) => name === kept) ?? "system";
}

/** Applies a theme, and keeps it for the next visit. */
export function setTheme(name: Theme): void {
  theme.value = name;
  localStorage.setItem("theme", name);
  show();
}

export function nextTheme(): void {
  setTheme(themes[(themes.indexOf(theme.value) + 1) % themes.length] ?? "system");
}

function show(): void {
  if (theme.value === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
  repaints.value++;
}

show();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  repaints.value++;
});
