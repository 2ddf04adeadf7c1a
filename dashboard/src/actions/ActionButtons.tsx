import { useState } from "preact/hooks";
import type { Action } from "./action";
import { ActionDialog } from "./ActionDialog";

/** A button for each action. */
export function ActionButtons({ actions, onDone, small = false }: { actions: Action[]; onDone: () => void; small?: boolean }) {
  const [open, setOpen] = useState<Action | undefined>(undefined);
  return (
    <>
      {actions.map((action) => (
        <button key={action.confirm} type="button" class={small ? "button small" : "button"} onClick={() => setOpen(action)}>{action.confirm}</button>
      ))}
      {open && <ActionDialog action={open} onClose={() => setOpen(undefined)} onDone={onDone} />}
    </>
  );
}
