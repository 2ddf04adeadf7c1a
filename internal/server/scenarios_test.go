package server

import (
	"embed"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/profile"
)

//go:embed testdata/scenarios
var scripts embed.FS

// TestScenarios plays every script on every engine. Every answer is also compared with
// the OpenAPI document.
func TestScenarios(t *testing.T) {
	t.Parallel()
	files, err := scripts.ReadDir("testdata/scenarios")
	if err != nil {
		t.Fatal(err)
	}
	doc := readDocument(newRig(t, inMemory, nil))
	seen := &coverage{operations: make(map[string]bool), codes: make(map[string]bool)}
	engines := engines()
	if testing.Short() {
		engines = []engine{inMemory} // requests come one after the other
	}
	t.Run("scripts", func(t *testing.T) {
		for _, file := range files {
			for _, e := range engines {
				t.Run(strings.TrimSuffix(file.Name(), ".http")+"/"+e.name, func(t *testing.T) {
					t.Parallel()
					play(t, e, file.Name(), doc, seen)
				})
			}
		}
	})
	if !t.Failed() {
		seen.check(t, doc)
	}
}

// scriptCallers are the callers in scripts with keys.
var scriptCallers = map[string]access.Caller{
	"key-all":    {Name: "all", Grants: []access.Grant{{Verbs: []access.Verb{access.All}, Namespaces: []string{"*"}}}},
	"key-alice":  {Name: "alice", Grants: []access.Grant{{Verbs: []access.Verb{access.Hold, access.Own, access.Read}, Namespaces: []string{"*"}}}},
	"key-bob":    {Name: "bob", Grants: []access.Grant{{Verbs: []access.Verb{access.Hold, access.Own, access.Read}, Namespaces: []string{"*"}}}},
	"key-acme":   {Name: "acme", Grants: []access.Grant{{Verbs: []access.Verb{access.All}, Namespaces: []string{"acme.*"}}}},
	"key-globex": {Name: "globex", Grants: []access.Grant{{Verbs: []access.Verb{access.All}, Namespaces: []string{"globex.*"}}}},
	"key-reader": {Name: "reader", Grants: []access.Grant{{Verbs: []access.Verb{access.Read}, Namespaces: []string{"*"}}}},
	"key-helper": {Name: "helper", Grants: []access.Grant{
		{Verbs: []access.Verb{access.Hold}, Namespaces: []string{"*"}},
		{Verbs: []access.Verb{access.ActForOthers}, Namespaces: []string{"slug"}},
	}},
	"key-sender": {Name: "sender", Grants: []access.Grant{{Verbs: []access.Verb{access.Webhooks}, Namespaces: []string{"*"}}}},
	"key-proxy":  {Name: "proxy", Grants: []access.Grant{{Verbs: []access.Verb{access.Resolve}, Namespaces: []string{"*"}}}},
	"key-keeper": {Name: "keeper", Grants: []access.Grant{{Verbs: []access.Verb{access.Keys, access.Read, access.Reserve}, Namespaces: []string{"acme.*"}}}},
	"key-ending": {
		Name: "ending", Until: time.Date(2098, 1, 1, 0, 0, 0, 0, time.UTC),
		Grants: []access.Grant{{Verbs: []access.Verb{access.All}, Namespaces: []string{"*"}}},
	},
	"key-nobody": {Name: "nobody"},
}

// player plays one script.
type player struct {
	*rig
	doc      *document
	seen     *coverage
	captured captured
	answers  strings.Builder
	last     reply // to the last request
	lastText string

	receivers map[string]*receiver
}

func play(t *testing.T, e engine, file string, doc *document, seen *coverage) {
	t.Helper()
	text, err := scripts.ReadFile("testdata/scenarios/" + file)
	if err != nil {
		t.Fatal(err)
	}
	steps, err := parseScript(string(text))
	if err != nil {
		t.Fatal(err)
	}
	var callers map[string]access.Caller
	if strings.Contains(string(text), "Authorization:") {
		callers = scriptCallers
	}
	p := &player{rig: newRig(t, e, callers), doc: doc, seen: seen, captured: make(captured), receivers: make(map[string]*receiver)}
	if strings.Contains(string(text), "@ receiver") {
		p.deliver()
	}
	for _, s := range steps {
		if err := p.step(s); err != nil {
			t.Errorf("%s:%d %s: %v", file, s.line, s.title, err)
			return // later steps depend on it
		}
		if t.Failed() {
			t.Fatalf("%s:%d %s", file, s.line, s.title)
		}
	}
	p.checkLog()
}

func (p *player) step(s *step) error {
	if s.command != "" {
		return p.direct(p.captured.fill(s.command))
	}
	err := p.exchange(s)
	for end := time.Now().Add(patience); err != nil && s.soon && time.Now().Before(end); err = p.exchange(s) {
		time.Sleep(2 * time.Millisecond)
	}
	return err
}

// exchange sends a request and compares its answer.
func (p *player) exchange(s *step) error {
	header, body := make(http.Header), p.captured.fill(s.body)
	for name, values := range s.header {
		header[http.CanonicalHeaderKey(name)] = []string{p.captured.fill(values[0])}
	}
	path := p.captured.fill(s.path)
	res, text := p.send(s.method, path, header, body)
	p.answers.WriteString(text)
	p.last, p.lastText = res, text
	for name, values := range res.header {
		p.answers.WriteString(name + ": " + strings.Join(values, ", ") + "\n")
	}
	p.compareWithDocument(s, path, res, body, text)
	if got := fmt.Sprint(res.status); got != s.status {
		return fmt.Errorf("the status is %s, want %s\n%s", got, s.status, text)
	}
	for name, values := range s.wantHeader {
		if values[0] == "<absent>" && res.header.Get(name) == "" {
			continue
		}
		if err := p.captured.matchText(p.captured.fill(values[0]), res.header.Get(name)); err != nil {
			return fmt.Errorf("%s %w", name, err)
		}
	}
	if s.wantBody == "" {
		return nil
	}
	if err := p.captured.matchJSON(p.captured.fill(s.wantBody), text); err != nil {
		return fmt.Errorf("%w\n%s", err, text)
	}
	return nil
}

func (p *player) compareWithDocument(s *step, path string, res reply, body, text string) {
	p.Helper()
	method := s.method
	if method == http.MethodHead {
		return // no body to compare
	}
	req, err := http.NewRequest(method, p.http.URL+path, nil)
	if err != nil {
		p.Fatal(err)
	}
	_, route := p.server.mux.Handler(req)
	p.doc.checkAnswer(p, route, res, text)
	if res.status < 300 {
		p.doc.checkRequest(p, route, body)
	}
	if op, ok := p.doc.operation(route); ok {
		p.seen.saw(op.OperationID, res.status, s.wantBody)
	}
}

// direct runs a line that is not a request:
//
//	@ engine is out of reach       loads and commits fail
//	@ engine loses answers         commits succeed, and their answers are lost
//	@ engine fails strangely       lists fail with an unexpected error
//	@ engine works                 it works again
//	@ fold becomes slug            the policy of the type "fold" has another profile
//	@ never TEXT                   no answer, log line or metric had this text
//	@ untold TEXT                  no answer had it
//	@ logged TEXT                  the log has it
//	@ receiver NAME ...            see [player.receive]
func (p *player) direct(command string) error {
	switch {
	case command == "engine is out of reach":
		p.store.mode.Store(outOfReach)
	case command == "engine loses answers":
		p.store.mode.Store(losesAnswers)
	case command == "engine fails strangely":
		p.store.mode.Store(listsNothing)
	case command == "engine works":
		p.store.mode.Store(works)
	case command == "fold becomes slug":
		policies := testPolicies()
		policies["fold"] = dibs.Policy{Profile: profile.Slug{}}
		return p.registry.SetPolicies(policies, dibs.Policy{})
	case strings.HasPrefix(command, "never "):
		return p.never(strings.TrimPrefix(command, "never "))
	case strings.HasPrefix(command, "logged "):
		if lacks("the log", p.log.String(), strings.TrimPrefix(command, "logged ")) == nil {
			return errors.New("the log does not have it")
		}
	case strings.HasPrefix(command, "receiver "):
		return p.receive(strings.TrimPrefix(command, "receiver "))
	case strings.HasPrefix(command, "untold "):
		return lacks("an answer", p.answers.String(), strings.TrimPrefix(command, "untold "))
	default:
		return fmt.Errorf("unknown command %q", command)
	}
	return nil
}

// never checks that no response, log line or metric has a text.
func (p *player) never(text string) error {
	_, metrics := p.send(http.MethodGet, "/metrics", nil, "")
	return errors.Join(lacks("an answer", p.answers.String(), text), lacks("the log", p.log.String(), text), lacks("a metric", metrics, text))
}

func lacks(where, what, text string) error {
	if i := strings.Index(what, text); i >= 0 {
		return fmt.Errorf("%s has %q: …%s…", where, text, what[max(0, i-200):min(len(what), i+200)])
	}
	return nil
}

// checkLog checks that the log has no token and no key.
func (p *player) checkLog() {
	p.Helper()
	log := p.log.String()
	secrets := slices.Collect(maps.Keys(scriptCallers))
	for name, value := range p.captured {
		if strings.HasPrefix(name, "token") {
			secrets = append(secrets, value)
		}
	}
	for _, secret := range secrets {
		if strings.Contains(log, secret) {
			p.Errorf("the log has the secret %q", secret)
		}
	}
}

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
