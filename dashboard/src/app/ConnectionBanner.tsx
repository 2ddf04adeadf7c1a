import { connection } from "../data/connection";

/** Says that the server, or its database, does not answer. The page stays, and goes on by itself. */
export function ConnectionBanner() {
  const state = connection.value;
  return (
    <div role="status" aria-live="polite">
      {state !== "up" && (
        <p class="banner">
          {state === "server gone" ? "The server does not answer." : "The database does not answer."} What you see may be old; this page goes on by itself.
        </p>
      )}
    </div>
  );
}
