import { stats } from "../../data/stats";
import { shortNumber } from "../../parts/Badge";

/** The numbers at a glance. */
export function Figures() {
  const count = (state: string) => stats.value?.names.filter((n) => n.state === state).reduce((sum, n) => sum + n.count, 0);
  return (
    <dl class="figures">
      <Figure label="Active" value={count("active")} href="#/names?state=active" />
      <Figure label="Aliases" value={count("alias")} href="#/names?state=alias" />
      <Figure label="Held" value={count("held")} href="#/names?state=held" />
      <Figure label="End within a minute" value={stats.value?.endingSoon} href="#/names?state=held" />
      <Figure label="Quarantined" value={count("quarantined")} href="#/names?state=quarantined" />
      <Figure label="Suspects" value={stats.value?.suspects} href="#/suspects" warn />
    </dl>
  );
}

function Figure({ label, value, href, warn = false }: { label: string; value: number | undefined; href: string; warn?: boolean }) {
  return (
    <div class={warn && value ? "warn" : ""}>
      <dt>{label}</dt>
      <dd class={value === undefined ? "waiting" : ""}><a href={href}>{value === undefined ? "–" : shortNumber(value)}</a></dd>
    </div>
  );
}
