package harness_test

import (
	"slices"
	"testing"

	"github.com/calldibs/dibs/internal/harness"
)

var _ harness.TB = (*testing.T)(nil)

func TestRun(t *testing.T) {
	t.Parallel()
	r := harness.New(t.Context())
	var order []int
	err := r.Do(func() {
		r.Cleanup(func() { order = append(order, 1) })
		r.Cleanup(func() { r.Fatalf("no %d", 2) })
		r.Cleanup(func() { order = append(order, 3) })
		r.Fatal("it ", "ends")
		t.Error("Fatal returned")
	})
	if err == nil || err.Error() != "it ends" {
		t.Errorf("got %v", err)
	}
	r.Errorf("number %d", 4)
	if err := r.Close(); err == nil || err.Error() != "number 4\nno 2" {
		t.Errorf("got %v", err)
	}
	if !slices.Equal(order, []int{3, 1}) {
		t.Errorf("cleanups ran in the order %v", order)
	}
}

func TestDoPassesPanics(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("the panic is gone")
		}
	}()
	_ = harness.New(t.Context()).Do(func() { panic("another one") })
}
