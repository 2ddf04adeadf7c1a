package cli

import (
	"bufio"
	"io"
	"strings"
)

// maxInput bounds what is read as values: far more than a registry takes.
const maxInput = 1 << 20

// readArgs puts what stdin has in the place of values that are "-".
func (s *session) readArgs(v verb, args []string) ([]string, error) {
	var read []string
	used := false
	for i, arg := range args {
		name := v.args[min(i, len(v.args)-1)]
		if arg != "-" || !strings.Contains(name, "VALUE") {
			read = append(read, arg)
			continue
		}
		if used {
			return nil, usage("only one value can be -, stdin is read once")
		}
		used = true
		values, err := s.readValues(strings.HasSuffix(name, "..."))
		if err != nil {
			return nil, err
		}
		read = append(read, values...)
	}
	return read, nil
}

// readValues reads one value, without the end of its line, or one from each line.
func (s *session) readValues(many bool) ([]string, error) {
	var values []string
	lines := bufio.NewScanner(io.LimitReader(s.Stdin, maxInput))
	for lines.Scan() {
		values = append(values, lines.Text())
	}
	switch {
	case lines.Err() != nil:
		return nil, usage("reading a value from stdin: %w", lines.Err())
	case len(values) == 0:
		return nil, usage("a value of - is read from stdin, and nothing came from there")
	case len(values) > 1 && !many:
		return nil, usage("a value of - is read from stdin, one line, and %d lines came from there", len(values))
	}
	return values, nil
}
