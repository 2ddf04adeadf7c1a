package cli

import (
	"bufio"
	"io"
	"strings"
)

// maxInput is the maximum size of values from stdin in bytes: far more than a registry accepts.
const maxInput = 1 << 20

// readArgs replaces values of "-" by values from stdin.
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
			return nil, usage("only one value can be -: stdin is read once")
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

// readValues reads one value per line; without many, exactly one.
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
		return nil, usage("a value of - is read from stdin, but stdin is empty")
	case len(values) > 1 && !many:
		return nil, usage("a value of - is one line of stdin, but stdin has %d lines", len(values))
	}
	return values, nil
}
