package main

import (
	"fmt"
	"os"
	"strings"
)

// equivalents are the changes that no test can find. Each has a class.
type equivalents struct {
	classes []string          // in the order of the list
	classOf map[string]string // by the description of the change
}

// readEquivalent reads the list. A line in brackets begins a class. Each other line that is not
// indented is a change; the indented lines after it say why it, and those right before it, are
// equivalent. Lines that begin with # are comments.
func readEquivalent(path string) (list equivalents, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return equivalents{}, err
	}
	list.classOf = make(map[string]string)
	class, unexplained := "", ""
	for line := range strings.Lines(string(data)) {
		switch line = strings.TrimRight(line, "\n"); {
		case strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "\t"):
			unexplained = ""
		case unexplained != "" && (line == "" || strings.HasPrefix(line, "[")):
			return equivalents{}, fmt.Errorf("%s gives no reason for %s", path, unexplained)
		case line == "":
		case strings.HasPrefix(line, "["):
			class = strings.Trim(line, "[]")
			list.classes = append(list.classes, class)
		case class == "":
			return equivalents{}, fmt.Errorf("%s: %s is in no class", path, line)
		default:
			list.classOf[line] = class
			unexplained = line
		}
	}
	if unexplained != "" {
		return equivalents{}, fmt.Errorf("%s gives no reason for %s", path, unexplained)
	}
	return list, nil
}

// checkExist returns an error for a listed change that is not among these.
func (e equivalents) checkExist(mutants []mutant) error {
	known := make(map[string]bool)
	for _, m := range mutants {
		known[m.String()] = true
	}
	for change := range e.classOf {
		if !known[change] {
			return fmt.Errorf("the change %q is listed as equivalent, and does not exist any more: the rule that is there now may need another reason", change)
		}
	}
	return nil
}
