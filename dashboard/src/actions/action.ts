import type { Command, Entity } from "@calldibs/client";

/** What a person fills in for an action. */
export interface Field {
  name: string;
  label: string;
  initial?: string;
  hint?: string;
  placeholder?: string;
  secret?: boolean;
  options?: readonly (readonly [string, string])[];
}

export type Values = Record<string, string>;

/** Something that an operator can do. */
export interface Action {
  title: string;
  /** The button that does it. */
  confirm: string;
  fields: Field[];
  /** The command for the API; it throws an Error that says which field is wrong. */
  command: (values: Values) => Command;
  /** Whether it takes something away from an owner. */
  dangerous?: boolean;
}

/** The entity that a person wrote as type/id. */
export function parseEntity(text: string): Entity {
  const slash = text.indexOf("/");
  const [type, id] = [text.slice(0, slash).trim(), text.slice(slash + 1).trim()];
  if (slash < 1 || !id) throw new Error("Write the entity as type/id, such as wedding/42.");
  return { type, id };
}

/** A value that must not be empty. */
export function required(values: Values, name: string, label: string): string {
  const value = values[name]?.trim();
  if (!value) throw new Error(`${label} is missing.`);
  return value;
}
