package demo_test

import (
	"bytes"
	"context"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/demo"
)

// The test binary is the second process, too.
func TestMain(m *testing.M) {
	if folder := os.Getenv("DIBS_DEMO_CUSTOMER"); folder != "" {
		if err := demo.Customer(context.Background(), os.Stdout, os.Args[len(os.Args)-1]); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestDemo(t *testing.T) {
	t.Setenv("DIBS_DEMO_CUSTOMER", "yes")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	start := time.Now()
	if err := demo.Run(t.Context(), &out, []string{self}); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if took := time.Since(start); took > time.Minute {
		t.Errorf("the demo took %v", took)
	}
	for _, want := range []string{
		`1 winner, 99 refusals`,
		`what is free:  \[alice-bob-2 alice-bob-3 alice-bob-4\]`,
		`slug:alice-bob is active and belongs to wedding/42`,
		`replayed true`,
		`RESERVATION_LOST`,
		`/the-millers  200`,
		`/alice-bob    301  Location: /the-millers`,
		`/nobody       404`,
		`signal: killed`,
		`slug:carol-dave is active and belongs to wedding/43`,
		`demoted`,
		`99 refused because it was held`,
	} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("the demo does not say %q:\n%s", want, out.String())
		}
	}
}
