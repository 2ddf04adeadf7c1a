import type { EntityInfo, Grant, Name } from "./schema.js";

/** What a search found. */
export interface Found {
  names: Name[];
  entities: EntityInfo[];
  more?: boolean;
}

/** The names that were refused most often. */
export interface Contested {
  names: { name: Name; count: number }[];
}

/** An API key, without its secret unless it was made just now. */
export interface Key {
  name: string;
  prefix?: string;
  grants: Grant[];
  createdAt?: string;
  createdBy?: string;
  expiresAt?: string;
  /** The line of the file that declares it: such a key cannot be revoked by a call. */
  declaredIn?: string;
  secret?: string;
}
