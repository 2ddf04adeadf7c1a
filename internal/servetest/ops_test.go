package servetest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v2"

	"github.com/calldibs/dibs/internal/config"
)

// elsewhere are the metrics in alerts that Dibs does not export: those of Prometheus, the
// node exporter, etcd, and the nightly job.
var elsewhere = append([]string{
	"up", "node_filesystem_avail_bytes", "node_filesystem_size_bytes", "node_timex_offset_seconds", "node_timex_sync_status",
	"etcd_mvcc_db_total_size_in_bytes", "etcd_server_quota_backend_bytes",
}, nightly...)

// nightly are the metrics that ops/nightly.sh writes.
var nightly = []string{"dibs_backup_timestamp_seconds", "dibs_verify_exit_code", "dibs_verify_timestamp_seconds"}

// alert is a rule of ops/alerts.yaml.
type alert struct {
	Alert       string            `yaml:"alert"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

func readOps(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile("../../" + path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func alerts(t *testing.T) (list []alert) {
	t.Helper()
	var file struct {
		Groups []struct {
			Name  string  `yaml:"name"`
			Rules []alert `yaml:"rules"`
		} `yaml:"groups"`
	}
	if err := yaml.UnmarshalStrict(readOps(t, "ops/alerts.yaml"), &file); err != nil {
		t.Fatal(err)
	}
	for _, group := range file.Groups {
		list = append(list, group.Rules...)
	}
	return list
}

// panelExpressions returns the expressions of the dashboard's panels, by title.
func panelExpressions(t *testing.T) map[string][]string {
	t.Helper()
	var board struct {
		Panels []struct {
			ID      int
			Title   string
			GridPos struct{ H, W, X, Y int }
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(readOps(t, "ops/grafana/dibs.json"), &board); err != nil {
		t.Fatal(err)
	}
	expressions, ids := make(map[string][]string), make(map[int]bool)
	for _, p := range board.Panels {
		if ids[p.ID] || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("the panel %q has a duplicate id, or is too wide", p.Title)
		}
		ids[p.ID] = true
		for _, target := range p.Targets {
			expressions[p.Title] = append(expressions[p.Title], target.Expr)
		}
	}
	return expressions
}

// Each alert links to a section of the runbook, and each section has its alert.
func TestAlertsHaveRunbooks(t *testing.T) {
	t.Parallel()
	_, page, found := strings.Cut(string(readOps(t, "docs/operations.md")), "\n## Alerts\n")
	if !found {
		t.Fatal("docs/operations.md has no section on alerts")
	}
	var sections, names []string
	for _, m := range regexp.MustCompile(`(?m)^### (\w+)$`).FindAllStringSubmatch(page, -1) {
		sections = append(sections, m[1])
	}
	for _, a := range alerts(t) {
		names = append(names, a.Alert)
		const page = "https://github.com/calldibs/dibs/blob/main/docs/operations.md#" // Alertmanager makes a link of nothing less
		if want := page + strings.ToLower(a.Alert); a.Annotations["runbook_url"] != want {
			t.Errorf("%s links to %q, want %q", a.Alert, a.Annotations["runbook_url"], want)
		}
		if a.Annotations["summary"] == "" || !slices.Contains([]string{"page", "ticket"}, a.Labels["severity"]) {
			t.Errorf("%s has no summary, or the severity %q", a.Alert, a.Labels["severity"])
		}
	}
	slices.Sort(sections)
	slices.Sort(names)
	if len(names) == 0 || !slices.Equal(sections, names) {
		t.Errorf("the page has the sections\n%q, the alerts are\n%q", sections, names)
	}
}

var (
	selector = regexp.MustCompile(`\b((?:dibs|go|process|node|etcd)_\w+|up\b)(?:\{([^}]*)\})?`)
	matcher  = regexp.MustCompile(`(\w+)(=~|!~|!=|=)"([^"]*)"`)
	grouping = regexp.MustCompile(`by \(([\w, ]+)\)`)
	sample   = regexp.MustCompile(`(?m)^(\w+)(?:\{(.*)\})? \S+$`)
)

// A server with some traffic exports everything that the dashboard and the alerts use:
// metrics, labels, and bounds of histograms.
func TestOpsAskForMetricsThatExist(t *testing.T) {
	t.Parallel()
	notRaced(t)
	labels := labelsOf(busyMetrics(t))
	expressions := panelExpressions(t)
	for _, a := range alerts(t) {
		expressions[a.Alert] = []string{a.Expr}
	}
	checked := 0
	for title, list := range expressions {
		for _, expression := range list {
			if strings.Count(expression, "(") != strings.Count(expression, ")") {
				t.Errorf("%s: unbalanced parentheses in %s", title, expression)
			}
			for _, m := range selector.FindAllStringSubmatch(expression, -1) {
				checked++
				checkSelector(t, title, m[1], m[2], labels)
			}
			checkGrouping(t, title, expression, labels)
		}
	}
	if checked < 40 {
		t.Errorf("only %d metrics were checked", checked)
	}
}

// checkSelector checks that a metric with these labels exists. Prometheus adds job and
// instance.
func checkSelector(t *testing.T, title, metric, matchers string, labels map[string]map[string][]string) {
	t.Helper()
	if slices.Contains(elsewhere, metric) {
		return
	}
	of, found := labels[metric]
	if !found {
		t.Errorf("%s: there is no metric %s", title, metric)
	}
	for _, m := range matcher.FindAllStringSubmatch(matchers, -1) {
		name, value := m[1], m[3]
		if name == "job" || name == "instance" {
			continue
		}
		if of[name] == nil {
			t.Errorf("%s: %s has no label %s", title, metric, name)
		}
		if name == "le" && !slices.Contains(of[name], value) {
			t.Errorf("%s: %s has no %s %s, but %q", title, metric, name, value, of[name])
		}
		if name == "route" {
			for route := range strings.SplitSeq(value, "|") {
				if !slices.Contains(of[name], route) {
					t.Errorf("%s: there is no route %s", title, route)
				}
			}
		}
	}
}

// checkGrouping checks that an expression is grouped by labels of its metrics.
func checkGrouping(t *testing.T, title, expression string, labels map[string]map[string][]string) {
	t.Helper()
	metric := selector.FindStringSubmatch(expression)[1]
	for _, m := range grouping.FindAllStringSubmatch(expression, -1) {
		for name := range strings.SplitSeq(strings.ReplaceAll(m[1], " ", ""), ",") {
			if name != "instance" && labels[metric][name] == nil {
				t.Errorf("%s: %s has no label %s to group by", title, metric, name)
			}
		}
	}
}

// busyMetrics returns /metrics of a server after requests of many kinds.
func busyMetrics(t *testing.T) string {
	t.Helper()
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	defer refusing.Close()
	p := serveTracedWith(t, newCollector(t).url, 1, `
[webhooks]
allowPrefixes = ["127.0.0.0/8"]
pauses = ["10ms"]
giveUpAfter = "1s"
`, "--store", "sqlite:names.db", "--sweep-every", "100ms", "--max-stale", "1s")
	client := newClient(t, 2)
	mustPost(t, p.url+"/v1/webhooks", fmt.Sprintf(`{"url": %q}`, refusing.URL), http.StatusCreated)
	for range 2 {
		for path, body := range map[string]string{
			"/v1/reservations":   `{"namespace": "slug", "value": "a"}`,
			"/v1/sweep":          `{}`,
			"/v1/recanonicalize": `{"namespace": "slug", "dryRun": true}`,
		} {
			if _, err := ask(client, http.MethodPost, p.url+path, body); err != nil {
				t.Fatal(err)
			}
		}
	}
	get(t, p.url+"/v1/events")
	var text string
	await(t, "names are counted, and an event is given up", func() bool {
		text = string(get(t, p.url+"/metrics").body)
		return strings.Contains(text, "\ndibs_names{") && strings.Contains(text, `route="GET /v1/events"`) &&
			strings.Contains(text, "\ndibs_webhook_dead_letters_total{") && strings.Contains(text, "\ndibs_webhook_lag_seconds{")
	})
	return text
}

// labelsOf returns the values of labels, by metric and name.
func labelsOf(text string) map[string]map[string][]string {
	labels := make(map[string]map[string][]string)
	for _, m := range sample.FindAllStringSubmatch(text, -1) {
		if labels[m[1]] == nil {
			labels[m[1]] = make(map[string][]string)
		}
		for _, l := range matcher.FindAllStringSubmatch(m[2], -1) {
			labels[m[1]][l[1]] = append(labels[m[1]][l[1]], l[3])
		}
	}
	return labels
}

// systemd must not kill a server while it drains, and must start it with existing flags.
func TestServiceFile(t *testing.T) {
	t.Parallel()
	unit := make(map[string]string)
	for line := range strings.Lines(string(readOps(t, "packaging/dibs.service"))) {
		if key, value, found := strings.Cut(strings.TrimSpace(line), "="); found && !strings.HasPrefix(key, "#") {
			unit[key] = value
		}
	}
	cfg, err := config.Load(config.Overrides{Environ: map[string]string{}})
	if err != nil {
		t.Fatal(err)
	}
	patience, err := time.ParseDuration(unit["TimeoutStopSec"] + "s")
	if err != nil || patience < cfg.DrainTimeout+15*time.Second {
		t.Errorf("TimeoutStopSec is %v, %v; draining takes up to %v", patience, err, cfg.DrainTimeout)
	}
	if !strings.HasSuffix(unit["ExecStart"], "dibs serve --config /etc/dibs/dibs.toml") || !strings.Contains(unit["ExecReload"], "-HUP") {
		t.Errorf("ExecStart is %q, ExecReload is %q", unit["ExecStart"], unit["ExecReload"])
	}
}
