import { Http, type Call, type CallOptions, type Options } from "./http.js";
import type * as api from "./schema.js";

export type { Contested, ContestedName, DeadLetter, DeadLetterPage, DeadLettersResent, Found, Grant, Import, Imported, Key, KeyRequest, Me, Policies, PolicyInfo, ServerInfo, Webhook, WebhookAttempt, WebhookChange, WebhookRequest, WebhookStatus } from "./schema.js";

const post = (path: string, body: unknown, repeatable: Call["repeatable"], options?: CallOptions): Call => ({ method: "POST", path, body, repeatable, ...options });

/**
 * The calls of operators, with which a dashboard or a script looks at a server and works on its keys and webhooks. It takes the same
 * options as {@link Dibs}, and throws the same errors.
 */
export class Operator {
  readonly #http: Http;

  constructor(options: Options | string) {
    this.#http = new Http(typeof options === "string" ? { url: options } : options);
  }

  /** Says who the caller is, and which rights it has. */
  async me(options?: CallOptions): Promise<api.Me> {
    return this.#get("/v1/me", {}, options);
  }

  /** The server's version, clock, stores and limits, and how far its background work is behind. */
  async server(options?: CallOptions): Promise<api.ServerInfo> {
    return this.#get("/v1/server", {}, options);
  }

  /** The policies in force, and what differs from the default. */
  async policies(options?: CallOptions): Promise<api.Policies> {
    return this.#get("/v1/policies", {}, options);
  }

  /** Finds names and entities by a name in any spelling, a key, a reservation id, an entity, or the beginning of a name. */
  async search(text: string, options?: CallOptions & { limit?: number }): Promise<api.Found> {
    const { signal, ...rest } = options ?? {};
    return this.#http.call(post("/v1/search", { text, ...rest }, "reads", signal && { signal }));
  }

  /** The names that callers asked the server for most often while they were taken, in the last day. */
  async contested(options?: CallOptions & { namespace?: string; limit?: number }): Promise<api.Contested> {
    const { signal, ...query } = options ?? {};
    return this.#get("/v1/stats/contested", query, signal && { signal });
  }

  /** Holds that end within an hour, or within `withinMs`, those that end soonest first. */
  async endingHolds(options?: CallOptions & { withinMs?: number; namespace?: string; limit?: number }): Promise<api.Name[]> {
    const { signal, withinMs = 3_600_000, ...query } = options ?? {};
    const page = await this.#get<api.NamesPage>("/v1/names", { endingWithinMs: withinMs, ...query }, signal && { signal });
    return page.names;
  }

  /** Brings names from another system, up to 1,000, each by itself. Repeating it changes nothing. The caller needs the right `import`. */
  async importNames(names: api.Import[], options?: CallOptions & { dryRun?: boolean }): Promise<api.Imported[]> {
    const { dryRun = false, ...rest } = options ?? {};
    return (await this.#http.call<{ results: api.Imported[] }>(post("/v1/imports", { names, dryRun }, dryRun ? "reads" : true, rest))).results;
  }

  /** Lists the API keys that the caller may manage, without their secrets. */
  async keys(options?: CallOptions): Promise<api.Key[]> {
    return (await this.#get<api.KeyList>("/v1/keys", {}, options)).keys;
  }

  /** Makes an API key, and returns it with its secret, once. The caller needs the right `keys`, and every right that it gives. */
  async createKey(request: api.KeyRequest, options?: CallOptions): Promise<api.Key & { secret: string }> {
    return this.#http.call(post("/v1/keys", request, false, options));
  }

  /** Revokes an API key, and ends the sessions and streams that it opened; the last key only with `open`. */
  async revokeKey(name: string, options?: CallOptions & { open?: boolean }): Promise<void> {
    const { open, ...rest } = options ?? {};
    await this.#http.call({ ...rest, method: "DELETE", path: `/v1/keys/${encodeURIComponent(name)}`, query: { open }, repeatable: false });
  }

  /** Lists the webhooks. */
  async webhooks(options?: CallOptions): Promise<api.Webhook[]> {
    return (await this.#get<api.WebhookList>("/v1/webhooks", {}, options)).webhooks;
  }

  /** Shows a webhook with the state of its deliveries. */
  async webhook(id: string, options?: CallOptions): Promise<api.Webhook> {
    return this.#get(webhookPath(id), {}, options);
  }

  /** Makes a webhook. Only this answer has its secret. */
  async createWebhook(request: api.WebhookRequest, options?: CallOptions): Promise<api.Webhook> {
    return this.#http.call(post("/v1/webhooks", request, false, options));
  }

  /** Changes a webhook; `enabled: true` also retries failed deliveries at once. */
  async changeWebhook(id: string, change: api.WebhookChange, options?: CallOptions): Promise<api.Webhook> {
    return this.#http.call({ ...options, method: "PATCH", path: webhookPath(id), body: change, repeatable: true });
  }

  /** Removes a webhook with its dead letters. */
  async removeWebhook(id: string, options?: CallOptions): Promise<void> {
    await this.#http.call({ ...options, method: "DELETE", path: webhookPath(id), repeatable: false });
  }

  /** Sends a test event to a webhook. */
  async testWebhook(id: string, options?: CallOptions): Promise<api.WebhookAttempt> {
    return this.#http.call(post(`${webhookPath(id)}/test`, undefined, false, options));
  }

  /** Lists the events that a webhook's receiver did not accept. */
  async deadLetters(id: string, options?: CallOptions & { cursor?: string; limit?: number }): Promise<api.DeadLetterPage> {
    const { signal, ...query } = options ?? {};
    return this.#get(`${webhookPath(id)}/deadletters`, query, signal && { signal });
  }

  /** Sends all dead letters of a webhook again, until one fails. */
  async resendDeadLetters(id: string, options?: CallOptions): Promise<api.DeadLettersResent> {
    return this.#http.call(post(`${webhookPath(id)}/deadletters/resend`, undefined, false, options));
  }

  /** Sends one dead letter again. */
  async resendDeadLetter(id: string, letter: string, options?: CallOptions): Promise<api.WebhookAttempt> {
    return this.#http.call(post(`${webhookPath(id)}/deadletters/${encodeURIComponent(letter)}/resend`, undefined, false, options));
  }

  #get<T>(path: string, query: Call["query"], options?: CallOptions): Promise<T> {
    return this.#http.call({ ...options, path, repeatable: true, ...(query && { query }) });
  }
}

function webhookPath(id: string): string {
  return `/v1/webhooks/${encodeURIComponent(id)}`;
}
