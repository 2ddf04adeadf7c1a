import { explain } from "../data/api";

/** An error, in words. */
export function Problem({ error }: { error: unknown }) {
  if (!error) return null;
  return <p class="problem" role="alert">{explain(error)}</p>;
}
