import { useState } from "preact/hooks";

/** The cursors of the pages that lead to the present one. */
export interface Pages {
  cursor: string | undefined;
  number: number;
  next: (cursor: string) => void;
  back: () => void;
  first: () => void;
}

/** Keeps a place in a list that is read page by page. */
export function usePages(): Pages {
  const [cursors, setCursors] = useState<string[]>([]);
  return {
    cursor: cursors.at(-1),
    number: cursors.length + 1,
    next: (cursor) => setCursors((all) => [...all, cursor]),
    back: () => setCursors((all) => all.slice(0, -1)),
    first: () => setCursors([]),
  };
}

/** Buttons to the page before and to the next one; nothing if there is only one page. */
export function Pager({ pages, nextCursor }: { pages: Pages; nextCursor: string | undefined }) {
  if (pages.number === 1 && !nextCursor) return null;
  return (
    <nav class="row" aria-label="Pages">
      <button type="button" class="button small" disabled={pages.number === 1} onClick={pages.back}>Back</button>
      <span>page {pages.number}</span>
      <button type="button" class="button small" disabled={!nextCursor} onClick={() => nextCursor && pages.next(nextCursor)}>Next</button>
    </nav>
  );
}
