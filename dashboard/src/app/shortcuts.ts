import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { session } from "../data/session";
import { menu } from "./pages";
import { go, link } from "./router";

/** What is open over the page. */
export const overlay = signal<"palette" | "help" | undefined>(undefined);

/** How long g waits for the letter of a page. */
const chordMs = 1200;

/** Keys that work on every page, except while a person types. */
export function useShortcuts(): void {
  useEffect(() => {
    let chord = 0;
    const press = (e: KeyboardEvent) => {
      if (session.peek().state !== "signed in") return;
      if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === "k") {
        e.preventDefault();
        overlay.value = overlay.value === "palette" ? undefined : "palette";
        return;
      }
      if (e.ctrlKey || e.metaKey || e.altKey || isTyping(e.target) || document.querySelector("dialog[open]")) return;
      const inChord = Date.now() - chord < chordMs;
      chord = 0;
      const page = inChord && menu.find((item) => item.key === e.key);
      if (page) go(link(page.path ? [page.path] : []));
      else if (e.key === "g") chord = Date.now();
      else if (e.key === "?") overlay.value = "help";
      else if (e.key === "/") {
        e.preventDefault();
        document.getElementById("search")?.focus();
      }
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches("input, textarea, select");
}
