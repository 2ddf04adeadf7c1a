import "./signin.css";
import { useState } from "preact/hooks";
import { explain } from "../../data/api";
import { useResource } from "../../data/resource";
import { signIn, signInMethods, signInWith } from "../../data/session";
import { TextField } from "../../parts/Field";
import { ConnectionBanner } from "../../app/ConnectionBanner";

const failures: Record<string, string> = {
  denied: "The issuer did not let you in.", expired: "Signing in took too long: try again.", failed: "The issuer could not be asked: try again.",
  forbidden: "You are signed in, but have no rights here: ask an operator for a rule that fits you.",
};

/** Signs in with a key, or at an issuer. What was on the page before stays in its address. */
export function SignIn() {
  const methods = useResource("methods", () => signInMethods());
  const [key, setKey] = useState("");
  const [error, setError] = useState<string | undefined>(failures[new URLSearchParams(location.search).get("signInError") ?? ""]);
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
    <>
      <ConnectionBanner />
      <main class="signin">
        <form class="card" onSubmit={(e) => void submit(e)}>
          <h1>Sign in to Dibs</h1>
          <TextField label="API key" type="password" value={key} onInput={setKey} autoFocus mono required hint={<>Make one with <code>dibs keys create</code>.</>} />
          {error && <p class="problem" role="alert">{error}</p>}
          <button type="submit" class="button main" disabled={busy}>Sign in</button>
          {methods.value?.issuers.map((issuer) => (
            <button key={issuer.id} type="button" class="button" onClick={() => signInWith(issuer.id)}>Sign in with {issuer.name}</button>
          ))}
        </form>
      </main>
    </>
  );
}
