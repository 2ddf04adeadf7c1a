import type { EntityInfo } from "@calldibs/client";
import { may, mayInScope } from "../data/session";
import { type Action, required } from "./action";

/** What can be done with an entity as a whole, by those who have the right. */
export function actionsOfEntity(info: EntityInfo, scope: string): Action[] {
  const { entity, archived } = info;
  const title = `${entity.type}/${entity.id}`;
  const about = { entity, ...(scope && { scope }) };
  const actions: Action[] = [];
  if (!archived && may("rename")) actions.push(rename(info, title));
  if (!archived && mayInScope("archive", scope)) {
    actions.push({ title: `Archive ${title}`, confirm: "Archive", dangerous: true, fields: [], command: () => ({ op: "archive", ...about }) });
  }
  if (archived && mayInScope("restore", scope)) {
    actions.push({ title: `Restore ${title}`, confirm: "Restore", fields: [], command: () => ({ op: "restore", ...about }) });
  }
  return actions;
}

function rename({ entity, names, version }: EntityInfo, title: string): Action {
  const present = names.find((name) => name.state === "active");
  return {
    title: `Rename ${title}`, confirm: "Rename",
    fields: [
      { name: "namespace", label: "Namespace", initial: present?.namespace ?? "" },
      { name: "value", label: "New name", placeholder: present?.canonical ?? "the-millers" },
    ],
    command: (values) => ({
      op: "rename", entity, namespace: required(values, "namespace", "The namespace"), value: required(values, "value", "The new name"), ifVersion: version,
    }),
  };
}
