import type { Name } from "@calldibs/client";
import { may } from "../data/session";
import { type Action, type Field, parseEntity, required } from "./action";

const token: Field = { name: "token", label: "Token of the hold", secret: true, hint: "Only its holder has it: the registry stores a hash." };
const entityField = (name: string, label: string, initial = ""): Field => ({ name, label, initial, placeholder: "wedding/42" });

/** What can be done with a name in its present state, by those who have the right. */
export function actionsOf(name: Name): Action[] {
  const all: [verb: string, action: Action | undefined][] = [
    ["extend", name.state === "held" || name.state === "suspect" ? extend(name) : undefined],
    ["release", name.state === "held" || name.state === "suspect" ? release(name) : undefined],
    ["settle", name.state === "suspect" ? settle(name) : undefined],
    ["rename", name.state === "active" ? rename(name) : undefined],
    ["transfer", name.state === "active" || name.state === "alias" ? transfer(name) : undefined],
    ["swap", name.state === "active" ? swap(name) : undefined],
    ["decommission", name.state === "active" || name.state === "alias" ? decommission(name) : undefined],
  ];
  return all.flatMap(([verb, action]) => (action && may(verb, name.namespace) ? [action] : []));
}

function extend(name: Name): Action {
  return {
    title: `Extend the hold on ${name.key}`, confirm: "Extend",
    fields: [token, { name: "seconds", label: "Seconds from now", initial: "300" }],
    command: (values) => ({ op: "extend", reservationId: name.reservationId, token: required(values, "token", "The token"), ttlMs: 1000 * Number(required(values, "seconds", "The time")) }),
  };
}

function release(name: Name): Action {
  return {
    title: `Release ${name.key}`, confirm: "Release", dangerous: true, fields: [token],
    command: (values) => ({ op: "release", reservationId: name.reservationId, token: required(values, "token", "The token") }),
  };
}

/** Ends a suspect: the operator knows whether its owner was saved. */
export function settle(name: Name): Action {
  const owner = name.entity ? `${name.entity.type}/${name.entity.id}` : "";
  return {
    title: `Settle ${name.key}`, confirm: "Settle",
    fields: [
      { name: "outcome", label: "Was its owner saved?", initial: "exists", options: [["exists", "Yes: the name is its owner's"], ["absent", "No: the name is free"]] },
      { ...entityField("entity", "Owner, if it was saved", owner) },
    ],
    command: (values) => {
      const exists = values.outcome === "exists";
      return { op: "settle", reservationId: name.reservationId, outcome: exists ? "exists" : "absent", ...(exists && { entity: parseEntity(values.entity ?? "") }) };
    },
  };
}

function rename(name: Name): Action {
  return {
    title: `Rename ${name.key}`, confirm: "Rename",
    fields: [{ name: "value", label: "New name", placeholder: "the-millers" }],
    command: (values) => ({ op: "rename", namespace: name.namespace, value: required(values, "value", "The new name"), replaces: name.canonical, ...(name.entity && { entity: name.entity }) }),
  };
}

function transfer(name: Name): Action {
  return {
    title: `Transfer ${name.key}`, confirm: "Transfer", dangerous: true, fields: [entityField("to", "New owner")],
    command: (values) => ({ op: "transfer", namespace: name.namespace, value: name.canonical, to: parseEntity(values.to ?? ""), ...(name.entity && { from: name.entity }) }),
  };
}

function swap(name: Name): Action {
  const own = name.entity ?? { type: "", id: "" };
  return {
    title: `Swap ${name.key} with another name`, confirm: "Swap", dangerous: true,
    fields: [{ name: "value", label: `Other name in ${name.namespace}` }, entityField("entity", "Its owner")],
    command: (values) => ({
      op: "swap", namespace: name.namespace, a: { value: name.canonical, entity: own },
      b: { value: required(values, "value", "The other name"), entity: parseEntity(values.entity ?? "") },
    }),
  };
}

function decommission(name: Name): Action {
  return {
    title: `Decommission ${name.key}`, confirm: "Decommission", dangerous: true, fields: [],
    command: () => ({ op: "decommission", namespace: name.namespace, value: name.canonical, ...(name.entity && { entity: name.entity }) }),
  };
}
