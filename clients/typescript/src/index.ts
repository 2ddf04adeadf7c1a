export { Dibs, newToken } from "./client.js";
export type { Attempt, Availability, Command, Hold, ListOptions, Name, Owner, ReserveRequest, Resolution, WithToken } from "./client.js";
export { DibsError } from "./errors.js";
export type { AnyProblem, InvalidValue, NameTaken, OtherProblem } from "./errors.js";
export { HoldError, Unsure } from "./hold.js";
export { Operator } from "./operator.js";
export type { CallOptions, Options } from "./http.js";
export type { WatchOptions } from "./watch.js";
export type {
  Activity, ActivityBucket, Code, ConflictBucket, Conflicts, DeadLetter, DeadLetterPage, DeadLettersResent, Entity, EntityInfo, Event, EventKind,
  EventsPage, Grant, History, Holder, Me, NameCount, NamesPage, Policies, PolicyInfo, Reason, Refusal, Result, ServerInfo, Snapshot, State, Stats, Status, Webhook, WebhookAttempt, WebhookChange,
  WebhookRequest, WebhookStatus,
} from "./schema.js";
export type { Contested, Found, Key } from "./pending.js";
