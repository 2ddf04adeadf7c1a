import { Dialog } from "../parts/Dialog";
import { menu } from "./pages";
import { overlay } from "./shortcuts";

/** The keys that work on every page. */
export function Help() {
  const close = () => {
    overlay.value = undefined;
  };
  return (
    <Dialog title="Keyboard shortcuts" onClose={close}>
      <dl class="facts">
        <dt><kbd>/</kbd></dt><dd>Search</dd>
        <dt><kbd>Ctrl</kbd> <kbd>K</kbd></dt><dd>Commands: every page, every name</dd>
        <dt><kbd>?</kbd></dt><dd>This list</dd>
        {menu.map((page) => [<dt key={page.key}><kbd>g</kbd> <kbd>{page.key}</kbd></dt>, <dd key={page.title}>{page.title}</dd>])}
      </dl>
      <div class="row ends"><button type="button" class="button" onClick={close}>Close</button></div>
    </Dialog>
  );
}
