import { link } from "../../app/router";
import { dibs } from "../../data/api";
import { useResource } from "../../data/resource";
import { Empty } from "../../parts/Empty";
import { Problem } from "../../parts/Problem";

/** The page of a name that is not in the registry: whether it could be had. */
export function NotTaken({ namespace, value }: { namespace: string; value: string }) {
  const check = useResource(`check ${namespace}:${value}`, (signal) => dibs.check(namespace, value, { signal }));
  if (check.error) return <Problem error={check.error} />;
  const free = check.value?.available;
  return (
    <div class="card">
      <Empty title={check.value === undefined ? "…" : free ? "Nobody has this name" : "This cannot be a name here"}>
        <p>{check.value && !check.value.available ? check.value.detail : "It never had an owner. (A name that was only held is removed some time after its last hold.)"}</p>
        <div class="row"><a class="button main" href={link(["playground"], { value, namespace })}>Try it in the playground</a></div>
      </Empty>
    </div>
  );
}
