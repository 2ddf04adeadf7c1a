import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { session } from "../data/session";
import { SignIn, SignInAgain } from "../pages/signin/SignIn";
import { Toasts } from "../parts/toasts";
import { ConnectionBanner } from "./ConnectionBanner";
import { Help } from "./Help";
import { Nav } from "./Nav";
import { Palette } from "./Palette";
import { pageAt, titleAt } from "./pages";
import { place } from "./router";
import { overlay, useShortcuts } from "./shortcuts";
import { TopBar } from "./TopBar";

/** Whether the menu is open, on narrow screens. */
export const menuOpen = signal(false);

/** The page, or the way in. Over a session that has ended the page stays, for the same caller: nothing that was typed is lost. */
export function App() {
  useShortcuts();
  const { state, principal } = session.value;
  if (state === "signed out") return <SignIn />;
  return (
    <>
      <Frame key={principal ?? ""} />
      {state === "over" && <SignInAgain />}
    </>
  );
}

/** The frame with the page of the present address in it. */
function Frame() {
  return (
    <>
      {/* biome-ignore lint/a11y/useValidAnchor: it leads to a part of the page, whose address is behind the hash */}
      <a class="skip" href="#main" onClick={(e) => { e.preventDefault(); document.getElementById("main")?.focus(); }}>Skip to the content</a>
      <div class="frame">
        <Nav open={menuOpen.value} onLeave={() => { menuOpen.value = false; }} />
        <div>
          <TopBar onMenu={() => { menuOpen.value = !menuOpen.value; }} menuOpen={menuOpen.value} />
          <ConnectionBanner />
          <Content />
        </div>
      </div>
      {overlay.value === "palette" && <Palette />}
      {overlay.value === "help" && <Help />}
      <Toasts />
    </>
  );
}

/** The page itself. A new page gets the focus, so that the keyboard and screen readers begin there. */
function Content() {
  const main = useRef<HTMLElement>(null);
  const path = place.value.parts.join("/");
  const shown = useRef(path);
  useEffect(() => {
    document.title = `${titleAt(place.value)} · Dibs`;
    menuOpen.value = false;
    if (shown.current === path) return;
    shown.current = path;
    main.current?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, [path]);
  return <main id="main" ref={main} tabIndex={-1}>{session.value.state !== "unknown" && pageAt(place.value)}</main>;
}
