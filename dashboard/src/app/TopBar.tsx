import { session, signOut } from "../data/session";
import { Icon } from "../parts/Icon";
import { SearchBox } from "./SearchBox";
import { overlay } from "./shortcuts";
import { nextTheme, theme } from "./theme";

/** The line above every page: search, theme, help, sign out. */
export function TopBar({ onMenu, menuOpen }: { onMenu: () => void; menuOpen: boolean }) {
  return (
    <header class="top">
      <button type="button" class="button plain menu" aria-label="Menu" aria-expanded={menuOpen} onClick={onMenu}><Icon name="menu" /></button>
      <SearchBox />
      <div class="end">
        <button type="button" class="button plain" aria-label={`Theme: ${theme.value}. Change it`} title={`Theme: ${theme.value}`} onClick={nextTheme}><Icon name="theme" /></button>
        <button type="button" class="button plain" aria-label="Keyboard shortcuts" title="Keyboard shortcuts (?)" onClick={() => { overlay.value = "help"; }}><Icon name="help" /></button>
        {session.value.me?.signedInBy === "session" && (
          <button type="button" class="button plain" onClick={() => void signOut()}><Icon name="signout" />Sign out</button>
        )}
      </div>
    </header>
  );
}
