package main

import (
	"strings"
	"testing"

	"github.com/calldibs/dibs/internal/queueing"
)

// The plan can be made from the figures of the repository.
func TestRun(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := run(&out, "../..", queueing.Target{Names: 1e9, PerSecond: 100_000}, queueing.Usual); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "1,000,000,000 names, 100,000 reservations a second") {
		t.Error(out.String())
	}
	if err := run(&out, "nowhere", queueing.Target{}, queueing.Usual); err == nil {
		t.Error("figures that are not there can be read")
	}
}
