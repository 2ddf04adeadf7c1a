export { Dibs, newToken } from "./client.js";
export type { Attempt, Availability, Command, Hold, ListOptions, Name, Owner, Proof, ReserveRequest, Resolution, WithToken } from "./client.js";
export { DibsError } from "./errors.js";
export type { AnyProblem, InvalidValue, NameTaken, OtherProblem } from "./errors.js";
export { HoldError, Unsure } from "./hold.js";
export type { CallOptions, Options } from "./http.js";
export type { WatchOptions } from "./watch.js";
export type {
  Activity, ActivityBucket, Code, ConflictBucket, Conflicts, Entity, EntityInfo, Event, EventKind, EventsPage, History, Holder, NameCount, NamesPage, Reason, Refusal,
  Result, Snapshot, State, Stats, Status,
} from "./schema.js";
