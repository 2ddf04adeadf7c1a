package main

import (
	"fmt"
	"os"
	"strings"
)

// readEquivalent returns the changes of the list, as their descriptions. Each line that is not
// indented is a change; the indented lines after it say why it, and those right before it, are
// equivalent. Lines that begin with # are comments.
func readEquivalent(path string) (changes []string, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	unexplained := ""
	for line := range strings.Lines(string(data)) {
		switch line = strings.TrimRight(line, "\n"); {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "\t"):
			unexplained = ""
		default:
			changes = append(changes, line)
			unexplained = line
		}
	}
	if unexplained != "" {
		return nil, fmt.Errorf("%s gives no reason for %s", path, unexplained)
	}
	return changes, nil
}
