package figures

import (
	"fmt"
	"os/exec"
	"strings"
)

// Commit returns the commit of the sources in this folder, with a + if they have changed since. What the long tests write does not
// count: their figures, and inputs of fuzz targets.
func Commit() (string, error) {
	head, err := exec.Command("git", "rev-parse", "--short=10", "HEAD").Output()
	if err != nil {
		return "", fmt.Errorf("git: %w", err)
	}
	commit := strings.TrimSpace(string(head))
	changed, err := exec.Command("git", "status", "--porcelain", "--", ".", ":!bench/proof.json", ":!docs/testing.md", ":(exclude,glob)**/testdata/fuzz/**").Output()
	if err != nil {
		return "", fmt.Errorf("git: %w", err)
	}
	if len(changed) > 0 {
		commit += "+"
	}
	return commit, nil
}
