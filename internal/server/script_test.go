package server

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// A script is a file of testdata/scenarios: steps on a server of its own.
//
//	### what this step shows
//	POST /v1/reservations
//	Idempotency-Key: 0123456789abcdef
//	{"namespace": "slug", "value": "a"}
//
//	201
//	Content-Type: application/json
//	{"reservationId": "<id:first>"}
//
// After a request follows the expected response: status, headers, and the relevant members of the
// body. See [captured] for placeholders; {{first}} is a captured value. A status followed by
// "soon" is waited for. For lines with "@" see [player.direct].
type step struct {
	line    int
	title   string
	command string // of "@": without it

	method, path string
	header       http.Header
	body         string

	status     string
	soon       bool
	wantHeader http.Header
	wantBody   string
}

var (
	requestLine = regexp.MustCompile(`^(GET|HEAD|POST|PUT|DELETE|PATCH) (/\S*)$`)
	statusLine  = regexp.MustCompile(`^(\d{3})( soon)?$`)
	headerLine  = regexp.MustCompile(`^([A-Za-z-]+): (.*)$`)
)

// parseScript reads the steps of a script.
func parseScript(text string) ([]*step, error) {
	var (
		steps []*step
		title string
		now   *step
	)
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "" || strings.HasPrefix(line, "//"):
		case strings.HasPrefix(line, "### "):
			title = line[4:]
		case strings.HasPrefix(line, "@ "):
			steps = append(steps, &step{line: number, title: title, command: line[2:]})
		case requestLine.MatchString(line):
			m := requestLine.FindStringSubmatch(line)
			now = &step{line: number, title: title, method: m[1], path: m[2], header: make(http.Header), wantHeader: make(http.Header)}
			steps = append(steps, now)
		default:
			if now == nil {
				return nil, fmt.Errorf("line %d is not part of a request", number)
			}
			now.read(line)
		}
	}
	for _, s := range steps {
		if s.command == "" && s.status == "" {
			return nil, fmt.Errorf("line %d: no expected response", s.line)
		}
	}
	return steps, nil
}

// read reads a line after the first.
func (s *step) read(line string) {
	header, body := s.header, &s.body
	if s.status != "" {
		header, body = s.wantHeader, &s.wantBody
	}
	status, field := statusLine.FindStringSubmatch(line), headerLine.FindStringSubmatch(line)
	switch {
	case *body == "" && status != nil || status != nil && s.status == "":
		s.status, s.soon = status[1], status[2] != ""
	case *body == "" && field != nil:
		header.Add(field[1], field[2])
	default:
		*body += line + "\n"
	}
}
