import "./signin.css";
import { useState } from "preact/hooks";
import { explain } from "../../data/api";
import { useResource } from "../../data/resource";
import { signIn, signInBeside, signInMethods, signInWith } from "../../data/session";
import { Dialog } from "../../parts/Dialog";
import { TextField } from "../../parts/Field";
import { ConnectionBanner } from "../../app/ConnectionBanner";

const failures: Record<string, string> = {
  denied: "The issuer did not let you in.", expired: "Signing in took too long: try again.", failed: "The issuer could not be asked: try again.",
  forbidden: "You are signed in, but have no rights here: ask an operator for a rule that fits you.",
};

/** The way in. What was on the page before stays in its address. */
export function SignIn() {
  return (
    <>
      <ConnectionBanner />
      <main class="signin"><SignInForm title="Sign in to Dibs" /></main>
    </>
  );
}

/** The way back in, over the page of a session that has ended. It hides the page, which may not be for everybody's eyes. */
export function SignInAgain() {
  return (
    <Dialog title="Your session is over" onClose={() => undefined} class="signin-again">
      <p>Sign in again to go on. What you typed is still there.</p>
      <SignInForm />
    </Dialog>
  );
}

/** Signs in with a key, or at an issuer. */
function SignInForm({ title = "" }) {
  const methods = useResource("methods", () => signInMethods());
  const [key, setKey] = useState("");
  const [error, setError] = useState(takeFailure);
  const [busy, setBusy] = useState(false);
  const submit = async (e: Event) => {
    e.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      await signIn(key.trim());
    } catch (problem) {
      setError(explain(problem));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form class={title ? "card" : "stack"} onSubmit={(e) => void submit(e)}>
      {title && <h1>{title}</h1>}
      <TextField label="API key" type="password" value={key} onInput={setKey} autoFocus mono required hint={<>Make one with <code>dibs keys create</code>.</>} />
      {error && <p class="problem" role="alert">{error}</p>}
      <button type="submit" class="button main" disabled={busy}>Sign in</button>
      {methods.value?.issuers.map((issuer) => (
        <button key={issuer.id} type="button" class="button" onClick={() => (title ? signInWith(issuer.id) : signInBeside(issuer.id))}>Sign in with {issuer.name}</button>
      ))}
    </form>
  );
}

/** Why the way back from an issuer failed, once: the address forgets it. */
function takeFailure(): string | undefined {
  const code = new URLSearchParams(location.search).get("signInError");
  if (code) history.replaceState(null, "", `/${location.hash}`);
  return failures[code ?? ""];
}
