package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// library is a library that is part of a program.
type library struct {
	kind    string // of its package URL: "golang" or "npm"
	name    string
	version string
}

// purl returns the package URL of a library.
func (l library) purl() string {
	name := l.name
	if l.kind == "golang" {
		name = strings.ToLower(name) // as the specification of package URLs demands
	}
	return fmt.Sprintf("pkg:%s/%s@%s", l.kind, strings.ReplaceAll(name, "@", "%40"), strings.ReplaceAll(l.version, "+", "%2B"))
}

// libraries returns what is part of a program: the modules that Go has noted in it, Go's own
// library, and the libraries of the dashboard.
func libraries(program string) ([]library, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, err
	}
	list := []library{{"golang", "std", strings.TrimPrefix(info.GoVersion, "go")}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			return nil, fmt.Errorf("%s is replaced by %s: a release has no replacements", m.Path, m.Replace.Path)
		}
		list = append(list, library{"golang", m.Path, m.Version})
	}
	ofDashboard, err := dashboardLibraries()
	return append(list, ofDashboard...), err
}

// thirdParty is the folder of the libraries in the dashboard. Its README lists them.
const thirdParty = "dashboard/third_party"

var libraryRow = regexp.MustCompile("(?m)^\\| `[^`]+` \\| `([^`]+)` \\| ([^ ]+) \\|")

func dashboardLibraries() ([]library, error) {
	text, err := os.ReadFile(filepath.Join(thirdParty, "README.md"))
	if err != nil {
		return nil, err
	}
	var list []library
	for _, row := range libraryRow.FindAllSubmatch(text, -1) {
		list = append(list, library{"npm", string(row[1]), string(row[2])})
	}
	if len(list) == 0 {
		return nil, errors.New(thirdParty + "/README.md lists no libraries")
	}
	return list, nil
}

// licence matches the names of files with a licence, or with notices that it demands.
var licence = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)`)

// notices returns the licences of everything that is part of the program of a platform: most of
// them demand that copies have them.
func (r *release) notices(ctx context.Context, t target) ([]byte, error) {
	info, err := buildinfo.ReadFile(r.program(t))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString("Dibs contains the following software, under the licences below.\n")
	folders, err := moduleFolders(ctx)
	if err != nil {
		return nil, err
	}
	goRoot, err := output(ctx, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	if err := addLicences(&b, "Go", strings.TrimSpace(goRoot)); err != nil {
		return nil, err
	}
	for _, m := range info.Deps {
		if err := addLicences(&b, m.Path+" "+m.Version, folders[m.Path]); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"preact", "signals", "uplot"} {
		if err := addLicences(&b, name, filepath.Join(thirdParty, name)); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// addLicences adds the licences in a folder, of which there must be one.
func addLicences(b *bytes.Buffer, name, folder string) error {
	files, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("the licence of %s: %w", name, err)
	}
	found := false
	for _, f := range files {
		if f.IsDir() || !licence.MatchString(f.Name()) || strings.HasSuffix(f.Name(), ".go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, f.Name()))
		if err != nil {
			return err
		}
		found = true
		line := strings.Repeat("=", 80)
		fmt.Fprintf(b, "\n%s\n%s: %s\n%s\n\n%s\n", line, name, f.Name(), line, bytes.TrimSpace(text))
	}
	if !found {
		return fmt.Errorf("%s has no file with a licence in %s", name, folder)
	}
	return nil
}

// moduleFolders returns where the source of each module is.
func moduleFolders(ctx context.Context) (map[string]string, error) {
	text, err := output(ctx, "go", "list", "-m", "-json=Path,Dir", "all")
	if err != nil {
		return nil, err
	}
	folders := make(map[string]string)
	for decoder := json.NewDecoder(strings.NewReader(text)); ; {
		var m struct{ Path, Dir string }
		switch err := decoder.Decode(&m); {
		case errors.Is(err, io.EOF):
			return folders, nil
		case err != nil:
			return nil, err
		}
		folders[m.Path] = m.Dir
	}
}
