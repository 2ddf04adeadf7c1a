package core_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/internal/logtest"
	"github.com/calldibs/dibs/memstore"
)

// unwritable is an engine whose commits fail with a cause.
type unwritable struct {
	dibs.Store
	cause atomic.Value
}

func (s *unwritable) Commit(context.Context, []dibs.Group) ([]dibs.Outcome, error) {
	return nil, dibs.Unavailable(errors.New("the driver's text")).Because(s.cause.Load().(dibs.Cause))
}

// Errors name the cause of a failing engine, and the log has one line for each cause.
func TestEngineKeepsFailing(t *testing.T) {
	t.Parallel()
	store := &unwritable{Store: memstore.New(memstore.Config{})}
	var log logtest.Buffer
	reg := coretest.MustOpen(t, store, dibs.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for _, cause := range []dibs.Cause{dibs.CauseDiskFull, dibs.CauseReadOnly} {
		store.cause.Store(cause)
		for i := range 100 {
			_, err := reg.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: fmt.Sprint(i)})
			var failed *dibs.Error
			if !errors.As(err, &failed) || !errors.Is(err, dibs.ErrUnavailable) || failed.Cause != cause ||
				failed.Message != string(cause)+": nothing happened; try again later" {
				t.Fatalf("%v", err)
			}
		}
		if n := strings.Count(log.String(), string(cause)); n != 1 {
			t.Errorf("the log has %d lines about %s:\n%s", n, cause, log.String())
		}
	}
}
