import { DibsError } from "@calldibs/client";
import type { Me } from "@calldibs/client/operator";
import { effect, signal } from "@preact/signals";
import { operator } from "./api";
import { reconnects, refusals, watchedFetch } from "./connection";

/** Who the caller is to the server. A session that is over keeps its caller: what the person was doing stays until they are back. */
export interface Session {
  state: "unknown" | "signed in" | "over" | "signed out";
  principal?: string;
  me?: Me;
}

/** How callers can sign in. */
export interface Methods {
  required: boolean;
  key: boolean;
  issuers: { id: string; name: string }[];
}

export const session = signal<Session>({ state: "unknown" });

/** Asks the server who the caller is. */
export async function loadSession(): Promise<void> {
  try {
    const me = await operator.me();
    const wasOver = session.peek().state === "over";
    session.value = { state: "signed in", me, ...(me.principal && { principal: me.principal }) };
    if (wasOver) reconnects.value++; // what failed meanwhile is loaded again
  } catch (error) {
    const refused = error instanceof DibsError && (error.code === "UNAUTHORIZED" || error.code === "KEY_NEEDED");
    if (refused && session.peek().state !== "over") session.value = { state: "signed out" };
  }
}

// A call that was refused may mean that the session is over.
effect(() => {
  if (refusals.value > 0 && session.peek().state === "signed in") session.value = { ...session.peek(), state: "over" };
});
effect(() => {
  if (reconnects.value > 0 && session.peek().state === "unknown") void loadSession();
});

export async function signInMethods(): Promise<Methods> {
  const response = await watchedFetch("/auth/methods");
  return (await response.json()) as Methods;
}

/** Signs in with a key. It throws what the server answers if it does not know the key. */
export async function signIn(key: string): Promise<void> {
  const response = await fetch("/auth/sign-in", {
    method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ key }),
  });
  const answer = (await response.json()) as Me | { detail: string };
  if (!response.ok) throw new Error("detail" in answer ? answer.detail : "the key was not accepted");
  await loadSession();
}

/** Leaves for the sign-in page of an issuer, which leads back to this page. */
export function signInWith(issuer: string): void {
  location.href = issuerPage(issuer);
}

/** Opens the sign-in page of an issuer in another tab. This one goes on when the person comes back to it. */
export function signInBeside(issuer: string): void {
  window.open(issuerPage(issuer), "_blank", "noopener");
}

function issuerPage(issuer: string): string {
  return `/auth/oidc/start?issuer=${encodeURIComponent(issuer)}&return=${encodeURIComponent(`/${location.hash}`)}`;
}

// All tabs share a session: another one may have a new one.
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && session.peek().state === "over") void loadSession();
});

export async function signOut(): Promise<void> {
  await fetch("/auth/sign-out", { method: "POST" });
  session.value = { state: "signed out" };
}

/** Whether the caller has a right in a namespace; without one: anywhere. */
export function may(verb: string, namespace?: string): boolean {
  const grants = session.value.me?.grants ?? [];
  return grants.some((grant) => grant.verbs.includes(verb) && (namespace === undefined || grant.namespaces.some((p) => covers(p, namespace))));
}

/** Whether the caller has a right in a whole scope, as calls about an entity need it. */
export function mayInScope(verb: string, scope: string): boolean {
  const grants = session.value.me?.grants ?? [];
  return grants.some((grant) => grant.verbs.includes(verb) && grant.namespaces.some((p) => p === "*" || (scope !== "" && (p === `${scope}.*` || (p.endsWith(".*") && scope.startsWith(p.slice(0, -1)))))));
}

function covers(pattern: string, namespace: string): boolean {
  if (pattern === "*" || pattern === namespace) return true;
  return pattern.endsWith(".*") && namespace.startsWith(pattern.slice(0, -1));
}
