import type { EntityInfo, Name } from "./schema.js";
export interface Me { principal?: string; signedInBy: string; expiresAt?: string; readOnly: boolean; grants: { verbs: string[]; namespaces: string[] }[] }
export interface ServerInfo {
  version: string; now: string; startedAt: string; dashboard: boolean;
  stores: { store: string; engine: string; scopes?: string[]; reads: boolean; writes: boolean; cause?: string }[];
  sweeper?: { lastAt?: string; lagMs: number }; feed?: { lagMs: number; streams: number }; webhooks?: { enabled: boolean; lagMs: number };
  limits?: Record<string, string>;
}
export interface Policies { policies: { namespace: string; profile: string; settings: Record<string, string>; differs: string[] }[] }
export interface Found { names: Name[]; entities: EntityInfo[]; more?: boolean }
export interface Contested { names: { name: Name; count: number }[] }
