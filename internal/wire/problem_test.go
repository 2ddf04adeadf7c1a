package wire_test

import (
	"encoding/json"
	"go/ast"
	"math"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
)

// codes returns every code of the library, from its source.
func codes(t *testing.T) []string {
	t.Helper()
	var list []string
	for _, file := range sources(t) {
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			if kind, ok := spec.Type.(*ast.Ident); ok && kind.Name == "Code" {
				for _, value := range spec.Values {
					code, err := strconv.Unquote(value.(*ast.BasicLit).Value)
					if err != nil {
						t.Fatal(err)
					}
					list = append(list, code)
				}
			}
			return true
		})
	}
	return list
}

func TestEveryCodeHasAStatus(t *testing.T) {
	t.Parallel()
	list := codes(t)
	if len(list) < 22 {
		t.Fatalf("only %d codes were found", len(list))
	}
	for _, code := range list {
		status := wire.StatusOf(dibs.Code(code))
		if !wire.IsCode(code) || status < 400 || status == http.StatusInternalServerError {
			t.Errorf("%s has the status %d", code, status)
		}
	}
	if wire.IsCode("INTERNAL") || wire.IsCode("") || wire.StatusOf("INTERNAL") != http.StatusInternalServerError {
		t.Error("a code that is not the library's has a status of its own")
	}
}

func TestProblem(t *testing.T) {
	t.Parallel()
	until := time.Date(2026, 1, 2, 3, 4, 5, 6_000_000, time.FixedZone("", 3600))
	p := wire.ProblemOf(&dibs.Error{Code: dibs.CodeNameTaken, Message: "acme.slug:a is taken", Namespace: "acme.slug", Until: until})
	switch {
	case p.Type != "urn:dibs:problem:name-taken", p.Title != "Name taken", p.Status != 409, p.Code != "NAME_TAKEN":
		t.Errorf("the problem is %+v", p)
	case p.Error != "slug_taken", p.Until != "2026-01-02T02:04:05.006Z", p.Detail != "acme.slug:a is taken":
		t.Errorf("the details are %+v", p)
	}
	if p := wire.ProblemOf(dibs.Unavailable(http.ErrServerClosed)); p.Error != "" || p.Detail != "nothing happened; try again later" {
		t.Errorf("there is a cause or an error member: %+v", p)
	}
}

// An error of the library as JSON has the members of the problem, with the same names.
func TestErrorsHaveTheNamesOfTheWire(t *testing.T) {
	t.Parallel()
	until := time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC)
	full := dibs.Error{
		Code: dibs.CodeNameTaken, Message: "m", Field: "f", Namespace: "acme.slug", Key: "acme.slug:a", Reason: dibs.ReasonHeld, Until: until,
		Suggestions: []string{"a-2"}, Cause: dibs.CauseDiskFull, Refusal: &dibs.Refusal{Rule: "r", Problem: "p", At: 3, Try: "t"},
	}
	list := full
	list.Failures = []dibs.Failure{{Index: 1, Err: &full}}
	for field, value := range reflect.ValueOf(list).Fields() {
		if field.IsExported() && value.IsZero() {
			t.Errorf("the test leaves out %s", field.Name)
		}
	}
	for _, e := range []*dibs.Error{&full, &list, {Code: dibs.CodeLost, Message: "m"}} {
		library, problem := membersOf(t, e), membersOf(t, wire.ProblemOf(e))
		for name, value := range library {
			if !reflect.DeepEqual(problem[name], value) {
				t.Errorf("%s is %v, in the problem %v", name, value, problem[name])
			}
		}
		for name := range problem {
			if _, ok := library[name]; !ok && !slices.Contains([]string{"type", "title", "status", "error"}, name) {
				t.Errorf("the error has no member %s", name)
			}
		}
	}
}

func membersOf(t *testing.T, v any) (members map[string]any) {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &members); err != nil {
		t.Fatal(err)
	}
	return members
}

func TestTimes(t *testing.T) {
	t.Parallel()
	if text := wire.FormatTime(time.Time{}); text != "" {
		t.Errorf("no time is %q", text)
	}
	if text := wire.FormatTime(time.UnixMilli(1)); text != "1970-01-01T00:00:00.001Z" {
		t.Errorf("a time is %q", text)
	}
}

// No number of milliseconds overflows.
func TestDurations(t *testing.T) {
	t.Parallel()
	const (
		most    = math.MaxInt64 / int64(time.Millisecond)
		longest = time.Duration(most * int64(time.Millisecond)) // to the millisecond
	)
	for ms, want := range map[int64]time.Duration{
		0: 0, 1: time.Millisecond, -1: -time.Millisecond, 60_000: time.Minute,
		most: longest, most + 1: longest,
		math.MaxInt64: longest, math.MinInt64: -longest,
		18_446_744_133_710: longest,
	} {
		if got := wire.Duration(ms); got != want {
			t.Errorf("%d ms are %v, want %v", ms, got, want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	date := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
	tests := []struct {
		text        string
		least, most time.Duration
	}{
		{"", 0, 0},
		{"soon", 0, 0},
		{"-5", 0, 0},
		{"2", 2 * time.Second, 2 * time.Second},
		{"9223372036854775807", math.MaxInt32 * time.Second, math.MaxInt32 * time.Second},
		{date(time.Minute), 50 * time.Second, time.Minute},
		{date(-time.Minute), 0, 0},
	}
	for _, test := range tests {
		if d := wire.RetryAfter(http.Header{"Retry-After": {test.text}}); d < test.least || d > test.most {
			t.Errorf("%q means %v", test.text, d)
		}
	}
}
