package server

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"sync"
	"testing"

	"github.com/calldibs/dibs/internal/wire"
)

// coverage is what the scenarios have covered so far.
type coverage struct {
	mu         sync.Mutex
	operations map[string]bool // by id and status, such as "reserve 201"
	codes      map[string]bool // expected by scenarios
}

func (c *coverage) saw(operation string, status int, wantBody string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.operations[fmt.Sprint(operation, " ", status)] = true
	for _, m := range wantedCode.FindAllStringSubmatch(wantBody, -1) {
		c.codes[m[1]] = true
	}
}

var (
	wantedCode = regexp.MustCompile(`"code": "(\w+)"`)
	sourceCode = regexp.MustCompile(`\bCode\w+ +Code = "(\w+)"`)
)

// codes returns the codes of the library, read from its source.
func codes(tb testing.TB) []string {
	tb.Helper()
	source, err := os.ReadFile("../../errors.go")
	if err != nil {
		tb.Fatal(err)
	}
	var list []string
	for _, m := range sourceCode.FindAllStringSubmatch(string(source), -1) {
		list = append(list, m[1])
	}
	if len(list) < 20 {
		tb.Fatalf("only %d codes found", len(list))
	}
	return list
}

// anywhere are statuses that every operation can have for the same reasons.
var anywhere = []string{"400", "401", "403", "408", "413", "415", "422", "429", "500", "503"}

// check demands a scenario for every response of the document, and for every code.
func (c *coverage) check(t *testing.T, doc *document) {
	t.Helper()
	for _, methods := range doc.Paths {
		for _, op := range methods {
			for status := range op.Responses {
				if !slices.Contains(anywhere, status) && !c.operations[op.OperationID+" "+status] {
					t.Errorf("no scenario shows the answer %s of %s", status, op.OperationID)
				}
			}
		}
	}
	for _, code := range codes(t) {
		if !c.codes[code] {
			t.Errorf("no scenario shows the code %s", code)
		}
		if !wire.IsCode(code) {
			t.Errorf("the API has no status for the code %s", code)
		}
	}
}
