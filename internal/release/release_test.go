package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// The tests read files of the repository by their paths.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

func TestCheckChanges(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, problem string }{
		"cut":               {"# Changelog\n\n## Unreleased\n\n## 0.1.0 — 2026-11-16\n\n- All.\n", ""},
		"the only one":      {"# Changelog\n\n## Unreleased\n\n## 0.1.0 — 2026-11-16\n", ""},
		"not cut":           {"# Changelog\n\n## Unreleased\n\n- All.\n", "unreleased changes"},
		"changes after":     {"# Changelog\n\n## Unreleased\n\n- More.\n\n## 0.1.0 — 2026-11-16\n\n- All.\n", "unreleased changes"},
		"an older one":      {"# Changelog\n\n## Unreleased\n\n## 0.0.9 — 2026-11-16\n\n- All.\n", `want "## 0.1.0 — YYYY-MM-DD"`},
		"no date":           {"# Changelog\n\n## Unreleased\n\n## 0.1.0\n\n- All.\n", `want "## 0.1.0 — YYYY-MM-DD"`},
		"not a date":        {"# Changelog\n\n## Unreleased\n\n## 0.1.0 — soon\n\n- All.\n", `want "## 0.1.0 — YYYY-MM-DD"`},
		"no place for more": {"# Changelog\n\n## 0.1.0 — 2026-11-16\n\n- All.\n", "no heading"},
	} {
		err := checkChanges(c.text, "0.1.0")
		if (err == nil) != (c.problem == "") || err != nil && !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%s: %v, want %q", name, err, c.problem)
		}
	}
}

// The changelog of the repository has the form that a release needs, before and after a cut.
func TestChangelogHasTheForm(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	headings := regexp.MustCompile(`(?m)^## (.*)$`).FindAllStringSubmatch(string(text), -1)
	form := regexp.MustCompile(`^\d+\.\d+\.\d+ — \d{4}-\d{2}-\d{2}$`)
	for i, h := range headings {
		if i == 0 && h[1] != "Unreleased" || i > 0 && !form.MatchString(h[1]) {
			t.Errorf("heading %d of CHANGELOG.md is %q", i+1, h[1])
		}
	}
}

func TestVersionAndTargets(t *testing.T) {
	t.Parallel()
	for version, ok := range map[string]bool{"0.1.0": true, "0.1.0-rc.1": true, "v0.1.0": false, "": false, "0.1": false, "0.1.0 x": false} {
		if semver.MatchString(version) != ok {
			t.Errorf("%q: %v, want %v", version, !ok, ok)
		}
	}
	for text, ok := range map[string]bool{"linux/amd64": true, "linux": false, "/amd64": false, "": false} {
		if _, err := parseTarget(text); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}

var date = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

var someEntries = []entry{
	{name: "LICENSE", path: "LICENSE", mode: 0o644},
	{name: "dibs", content: []byte("a program"), mode: 0o755},
}

// Archives depend on their content alone.
func TestArchivesAreReproducible(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(io.Writer, string, time.Time, []entry) error{"tar": writeTar, "zip": writeZip} {
		var first, second bytes.Buffer
		if err := errors.Join(write(&first, "dibs_0.1.0", date, someEntries), write(&second, "dibs_0.1.0", date, someEntries)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Errorf("%s: two archives differ", name)
		}
	}
}

func TestArchives(t *testing.T) {
	t.Parallel()
	want := []string{"dibs_0.1.0/LICENSE -rw-r--r--", "dibs_0.1.0/dibs -rwxr-xr-x"}
	var b bytes.Buffer
	if err := writeTar(&b, "dibs_0.1.0", date, someEntries); err != nil {
		t.Fatal(err)
	}
	if got := listTar(t, &b); !slices.Equal(got, want) {
		t.Errorf("tar: %v, want %v", got, want)
	}
	b.Reset()
	if err := writeZip(&b, "dibs_0.1.0", date, someEntries); err != nil {
		t.Fatal(err)
	}
	archive, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range archive.File {
		got = append(got, f.Name+" "+f.Mode().String())
	}
	if !slices.Equal(got, want) {
		t.Errorf("zip: %v, want %v", got, want)
	}
}

func listTar(t *testing.T, r io.Reader) (list []string) {
	t.Helper()
	compressed, err := gzip.NewReader(r)
	if err != nil {
		t.Fatal(err)
	}
	for archive := tar.NewReader(compressed); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, header.Name+" "+fs.FileMode(header.Mode).String())
	}
}

// The list of contents has every module of a program, here of this test, in the form of CycloneDX.
func TestBOM(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := &release{version: "0.1.0", date: date, out: t.TempDir(), work: t.TempDir()}
	platform := target{"linux", "amd64"}
	if err := os.MkdirAll(filepath.Dir(r.program(platform)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, r.program(platform)); err != nil {
		t.Fatal(err)
	}
	if err := r.writeBOM(platform); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(r.out, "dibs_0.1.0_linux_amd64.cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	var list bom
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(list.SerialNumber) {
		t.Errorf("the serial number is %s", list.SerialNumber)
	}
	refs := make(map[string]bool)
	for _, c := range list.Components {
		if refs[c.Ref] || !regexp.MustCompile(`^pkg:(golang|npm)/[^@ ]+@[^@ ]+$`).MatchString(c.PURL) {
			t.Errorf("component %+v", c)
		}
		refs[c.Ref] = true
	}
	for _, want := range []string{"pkg:golang/std@1.", "pkg:npm/preact@", "pkg:npm/%40preact/signals@", "pkg:npm/uplot@"} {
		if !slices.ContainsFunc(list.Components, func(c component) bool { return strings.HasPrefix(c.PURL, want) }) {
			t.Errorf("no component begins with %s", want)
		}
	}
}

func TestPURL(t *testing.T) {
	t.Parallel()
	for want, l := range map[string]library{
		"pkg:golang/github.com/hdrhistogram/hdrhistogram-go@v1.4.0": {"golang", "github.com/HdrHistogram/hdrhistogram-go", "v1.4.0"},
		"pkg:golang/example.com/a@v2.0.0%2Bincompatible":            {"golang", "example.com/a", "v2.0.0+incompatible"},
		"pkg:npm/%40preact/signals@2.4.0":                           {"npm", "@preact/signals", "2.4.0"},
	} {
		if got := l.purl(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// A library without a licence cannot be passed on.
func TestLicences(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := addLicences(&b, "preact", filepath.Join(thirdParty, "preact")); err != nil || !strings.Contains(b.String(), "MIT") {
		t.Errorf("%v: %s", err, b.String())
	}
	if err := addLicences(&b, "nothing", t.TempDir()); err == nil {
		t.Error("a folder without a licence is accepted")
	}
}

// The scripts of packages, and of the test, are written for a shell that this machine has.
func TestScripts(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Glob("packaging/*.sh")
	if err != nil || len(scripts) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, script := range append(scripts, "packaging/testdata/boot.sh") {
		if out, err := exec.CommandContext(t.Context(), "sh", "-n", script).CombinedOutput(); err != nil {
			t.Errorf("%s: %v %s", script, err, out)
		}
	}
}
