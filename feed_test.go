package dibs_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/memstore"
)

func TestWatchWakesForOwnCommits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := openMem(t, dibs.Config{PollEvery: time.Hour})
		mustReserve(t, reg, "before")
		ctx, cancel := context.WithCancel(t.Context())
		seen := make(chan dibs.Event)
		ended := make(chan error, 1)
		go func() {
			for e, err := range reg.Watch(ctx, dibs.FeedQuery{}) {
				if err != nil {
					ended <- err
					return
				}
				seen <- e
			}
		}()
		if e := <-seen; e.Key() != "slug:before" {
			t.Errorf("first %s", e.Key())
		}
		start := time.Now()
		mustReserve(t, reg, "after")
		if e := <-seen; e.Key() != "slug:after" {
			t.Errorf("then %s", e.Key())
		}
		if waited := time.Since(start); waited != 0 {
			t.Errorf("woke up only after %v", waited)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}
	})
}

func TestWatchFindsCommitsOfOthersByLooking(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(memstore.Config{})
		ours, theirs := mustOpen(t, store, dibs.Config{PollEvery: time.Second}), mustOpen(t, store, dibs.Config{})
		start := time.Now()
		go func() {
			time.Sleep(10 * time.Second)
			_, _ = theirs.Reserve(context.Background(), dibs.Reserve{Namespace: "slug", Value: "theirs"})
		}()
		for e, err := range ours.Watch(t.Context(), dibs.FeedQuery{}) {
			if err != nil || e.Key() != "slug:theirs" {
				t.Fatalf("%s, %v", e.Key(), err)
			}
			break
		}
		if waited := time.Since(start); waited > 11*time.Second {
			t.Errorf("seen after %v", waited)
		}
	})
}

func TestEventsResumeAndFilter(t *testing.T) {
	t.Parallel()
	reg := openMem(t, dibs.Config{})
	ctx := t.Context()
	for i := range 7 {
		for _, namespace := range []string{"slug", "email"} {
			if _, err := reg.Reserve(ctx, dibs.Reserve{Namespace: namespace, Value: fmt.Sprint("n", i)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	var keys []string
	query := dibs.FeedQuery{Namespace: "email", Limit: 3}
	for {
		page, err := reg.Events(ctx, query)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Events) == 0 {
			break
		}
		for _, e := range page.Events {
			keys = append(keys, e.Key())
		}
		query.After = page.Next
	}
	if want := "[email:n0 email:n1 email:n2 email:n3 email:n4 email:n5 email:n6]"; fmt.Sprint(keys) != want {
		t.Errorf("got %v", keys)
	}
	// A reader of a namespace where nothing happens does not start over each time.
	page, err := reg.Events(ctx, dibs.FeedQuery{Namespace: "username"})
	all, _ := reg.Events(ctx, dibs.FeedQuery{})
	if err != nil || len(page.Events) != 0 || page.Next != all.Next {
		t.Errorf("got %+v, %v; want no event and the cursor %s", page, err, all.Next)
	}
	if _, err := reg.Events(ctx, dibs.FeedQuery{After: "nonsense"}); !errors.Is(err, dibs.ErrBadCursor) {
		t.Errorf("a bad cursor: %v", err)
	}
}
