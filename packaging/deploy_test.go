package packaging

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v2"

	"github.com/calldibs/dibs/internal/config"
)

// read returns a file of the repository.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// readYAML reads a part of a file.
func readYAML[T any](t *testing.T, path string) (part T) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(read(t, path)), &part); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return part
}

// defaults returns the configuration of a server without settings.
func defaults(t *testing.T) *config.Config {
	t.Helper()
	cfg, err := config.Load(config.Overrides{Environ: map[string]string{}})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// afterDrain is how long a server may take after it has drained.
const afterDrain = 15 * time.Second

// The files of one installation, by hand, with compose or on Kubernetes, have one version: that of
// the changelog, or the first one before there is any.
func TestVersions(t *testing.T) {
	t.Parallel()
	version := "0.1.0"
	if released := regexp.MustCompile(`(?m)^## (\d+\.\d+\.\d+) — `).FindStringSubmatch(read(t, "CHANGELOG.md")); released != nil {
		version = released[1]
	}
	for path, pattern := range map[string]string{
		"deploy/compose.yaml":                  `ghcr\.io/calldibs/dibs:(\S+)`,
		"deploy/kubernetes/kustomization.yaml": `newTag: (\S+)`,
		"clients/typescript/package.json":      `"version": "([^"]+)"`,
		"clients/python/pyproject.toml":        `(?m)^version = "([^"]+)"`,
		"docs/install.md":                      `(?:dibs_|dibs:|/v)(\d+\.\d+\.\d+)`,
	} {
		found := regexp.MustCompile(pattern).FindAllStringSubmatch(read(t, path), -1)
		if len(found) == 0 {
			t.Errorf("%s has no version", path)
		}
		for _, m := range found {
			if m[1] != version {
				t.Errorf("%s has version %s, CHANGELOG.md %s", path, m[1], version)
			}
		}
	}
}

// The image has the settings and the user that the other files expect.
func TestDockerfile(t *testing.T) {
	t.Parallel()
	text := read(t, "Dockerfile")
	environ := make(map[string]string)
	for _, m := range regexp.MustCompile(`(DIBS_\w+)=(\S+)`).FindAllStringSubmatch(text, -1) {
		environ[m[1]] = m[2]
	}
	cfg, err := config.Load(config.Overrides{Environ: environ})
	if err != nil || cfg.Listen != ":8080" || cfg.Keyless != config.KeylessNever {
		t.Errorf("%v: listens on %s, keyless %s", err, cfg.Listen, cfg.Keyless)
	}
	for _, want := range []string{"FROM scratch\n", "USER 65532:65532\n", "CGO_ENABLED=0", "EXPOSE 8080\n", "VOLUME /data\n", "WORKDIR /data\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("the Dockerfile has no %q", want)
		}
	}
	mod := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, "go.mod"))
	if !strings.Contains(text, "golang:"+mod[1]+" ") {
		t.Errorf("the Dockerfile builds with another Go than %s", mod[1])
	}
	// The linker ignores variables that do not exist.
	for _, name := range []string{"version", "commit", "date"} {
		if !strings.Contains(text, "internal/build."+name+"=") || !strings.Contains(read(t, "internal/build/build.go"), name) {
			t.Errorf("the Dockerfile does not set %s", name)
		}
	}
}

// check checks a configuration file with the variables that its server gets.
func check(t *testing.T, path string, environ map[string]string) *config.Config {
	t.Helper()
	cfg, err := config.Load(config.Overrides{File: filepath.Join("..", path), Environ: environ})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func TestComposeFile(t *testing.T) {
	t.Parallel()
	type service struct {
		Command     []string
		Environment map[string]string
		Ports       []string
		Volumes     []string
		Grace       string `yaml:"stop_grace_period"`
	}
	file := readYAML[struct{ Services map[string]service }](t, "deploy/compose.yaml")
	dibs := file.Services["dibs"]
	grace, err := time.ParseDuration(dibs.Grace)
	if least := defaults(t).DrainTimeout + afterDrain; err != nil || grace < least {
		t.Errorf("stop_grace_period is %s, want at least %v", dibs.Grace, least)
	}
	if dibs.Ports[0] != "127.0.0.1:8080:8080" || dibs.Volumes[0] != "./dibs.toml:/etc/dibs/dibs.toml:ro" || dibs.Command[2] != "/etc/dibs/dibs.toml" {
		t.Errorf("ports %v, volumes %v, command %v", dibs.Ports, dibs.Volumes, dibs.Command)
	}
	variable := regexp.MustCompile(`\$\{[^}]+\}`)
	const secret = "dibs_z3qebkuf_uqfa2uo46ooy7tjnzvrnl3omwn6uc3wazra4te6fwdau"
	environ := make(map[string]string)
	for name, value := range dibs.Environment {
		environ[name] = variable.ReplaceAllString(value, "secret")
	}
	environ["ADMIN_KEY"] = secret
	cfg := check(t, "deploy/dibs.toml", environ)
	if _, err := cfg.DeclaredKeys(environ); err != nil {
		t.Error(err)
	}
	if cfg.Store != "postgres://dibs:secret@postgres/dibs" {
		t.Errorf("the store is %s", cfg.Store)
	}
}

// deployment is a part of a Deployment of Kubernetes.
type deployment struct {
	Spec struct {
		Selector struct {
			Labels map[string]string `yaml:"matchLabels"`
		}
		Template struct {
			Metadata struct{ Labels map[string]string }
			Spec     struct {
				Grace    int `yaml:"terminationGracePeriodSeconds"`
				Security struct {
					RunAsUser int `yaml:"runAsUser"`
				} `yaml:"securityContext"`
				Containers []container
			}
		}
	}
}

type container struct {
	Args  []string
	Env   []struct{ Name, Value string }
	Ports []struct {
		Name string
		Port int `yaml:"containerPort"`
	}
	Liveness  probe `yaml:"livenessProbe"`
	Readiness probe `yaml:"readinessProbe"`
	Startup   probe `yaml:"startupProbe"`
	Lifecycle struct {
		PreStop struct{ Sleep struct{ Seconds int } } `yaml:"preStop"`
	}
}

type probe struct {
	Get      struct{ Path, Port string } `yaml:"httpGet"`
	Period   int                         `yaml:"periodSeconds"`
	Failures int                         `yaml:"failureThreshold"`
}

func TestKubernetesDeployment(t *testing.T) {
	t.Parallel()
	spec := readYAML[deployment](t, "deploy/kubernetes/deployment.yaml").Spec
	pod, c, usual := spec.Template.Spec, spec.Template.Spec.Containers[0], defaults(t)
	least := usual.DrainTimeout + afterDrain + time.Duration(c.Lifecycle.PreStop.Sleep.Seconds)*time.Second
	if grace := time.Duration(pod.Grace) * time.Second; grace < least {
		t.Errorf("terminationGracePeriodSeconds is %v, want at least %v", grace, least)
	}
	if c.Liveness.Get.Path != "/healthz" || c.Startup.Get.Path != "/healthz" || c.Readiness.Get.Path != "/readyz" {
		t.Errorf("the probes ask %s, %s and %s", c.Liveness.Get.Path, c.Startup.Get.Path, c.Readiness.Get.Path)
	}
	if patience := time.Duration(c.Startup.Period*c.Startup.Failures) * time.Second; patience <= usual.Wait {
		t.Errorf("the start may take %v; the server waits %v for its store", patience, usual.Wait)
	}
	environ := make(map[string]string)
	for _, v := range c.Env {
		environ[v.Name] = v.Value
	}
	delete(environ, "DIBS_STORE_FILE") // a secret of the installation
	if cfg := check(t, "deploy/kubernetes/dibs.toml", environ); cfg.Listen != ":8080" || cfg.Keyless != config.KeylessNever {
		t.Errorf("listens on %s, keyless %s", cfg.Listen, cfg.Keyless)
	}
	if pod.Security.RunAsUser != 65532 || c.Ports[0].Port != 8080 || strings.Join(c.Args, " ") != "serve --config /etc/dibs/dibs.toml" {
		t.Errorf("user %d, port %d, arguments %v", pod.Security.RunAsUser, c.Ports[0].Port, c.Args)
	}
}

// Every selector finds the pods.
func TestKubernetesSelectors(t *testing.T) {
	t.Parallel()
	labels := readYAML[deployment](t, "deploy/kubernetes/deployment.yaml").Spec.Template.Metadata.Labels
	type labelled struct {
		Labels map[string]string `yaml:"matchLabels"`
	}
	found := map[string]map[string]string{
		"Deployment": readYAML[deployment](t, "deploy/kubernetes/deployment.yaml").Spec.Selector.Labels,
		"Service": readYAML[struct {
			Spec struct{ Selector map[string]string }
		}](t, "deploy/kubernetes/service.yaml").Spec.Selector,
		"PodDisruptionBudget": readYAML[struct{ Spec struct{ Selector labelled } }](t, "deploy/kubernetes/disruption.yaml").Spec.Selector.Labels,
		"NetworkPolicy": readYAML[struct {
			Spec struct {
				Pods labelled `yaml:"podSelector"`
			}
		}](t, "deploy/kubernetes/network.yaml").Spec.Pods.Labels,
	}
	for kind, selector := range found {
		if len(selector) != 1 || selector["app.kubernetes.io/name"] != labels["app.kubernetes.io/name"] || len(labels) != 1 {
			t.Errorf("%s selects %v, pods have %v", kind, selector, labels)
		}
	}
}
