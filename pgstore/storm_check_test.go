package pgstore_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/calldibs/dibs"
)

// repeatUnknown repeats the commands with an unknown outcome, now that nothing fails.
func repeatUnknown(t *testing.T, reg *dibs.Registry, sent []*sentCommand) (unknown int) {
	t.Helper()
	for _, d := range sent {
		if errors.Is(d.err, dibs.ErrOutcomeUnknown) {
			unknown++
			d.repeated = true
			if _, d.err = reg.Apply(context.Background(), d.command); errors.Is(d.err, dibs.ErrOutcomeUnknown) || errors.Is(d.err, dibs.ErrUnavailable) {
				t.Errorf("%#v, again: %v", d.command, d.err)
			}
		}
	}
	return unknown
}

// checkCommands compares the answers to commands with the feed.
func (r *rig) checkCommands(sent []*sentCommand, feed []dibs.Event) {
	r.Helper()
	codes := make(map[string]int)
	for _, d := range sent {
		found, want := 0, 1
		for i := range feed {
			if d.mark(&feed[i]) {
				found++
			}
		}
		if refused, ok := errors.AsType[*dibs.Error](d.err); ok {
			want = 0
			codes[string(refused.Code)]++
		}
		if d.repeated && errors.Is(d.err, dibs.ErrLost) {
			want = found // a release that succeeded, and another caller has had the name since
		}
		if found != want {
			r.Errorf("%#v with the error %v is in the feed %d times", d.command, d.err, found)
		}
	}
	r.Logf("refused: %v", codes)
}

// checkFeed compares the feed with a second read of it, and with the stored names.
func (r *rig) checkFeed(store dibs.Store, feed []dibs.Event) {
	r.Helper()
	whole, err := store.Events(context.Background(), dibs.EventQuery{Limit: len(feed) + 100})
	if err != nil {
		r.Fatal(err)
	}
	if !slices.EqualFunc(whole, feed, func(a, b dibs.Event) bool { return a.Cursor == b.Cursor && a.ID == b.ID && a.Rev == b.Rev }) {
		r.Errorf("the reader got %d events, there are %d, or in another order", len(feed), len(whole))
	}
	last := make(map[dibs.Ref]dibs.Event)
	for _, e := range feed {
		if e.ID.IsZero() {
			continue
		}
		ref := dibs.Ref{Kind: dibs.KindName, ID: e.ID}
		if e.Rev != last[ref].Rev+1 {
			r.Errorf("revision %d of %s follows %d", e.Rev, e.Key(), last[ref].Rev)
		}
		last[ref] = e
	}
	loaded, err := store.Load(context.Background(), slices.Collect(maps.Keys(last)))
	if err != nil {
		r.Fatal(err)
	}
	if n := ask[int](r, "SELECT count(*) FROM "+r.table("dibs_names")); n != len(last) || len(loaded.Records) != len(last) {
		r.Errorf("%d names, the feed has %d", n, len(last))
	}
	for _, record := range loaded.Records {
		n := record.(*dibs.NameRecord)
		e := last[n.Ref()]
		if n.Rev != e.Rev || n.State != e.After.State || n.Status != e.After.Status || n.Epoch != e.After.Epoch || n.State == dibs.Active && n.Owner != e.After.Entity {
			r.Errorf("%s is %s of %v at revision %d, and the feed ends with %+v", n.Canonical, n.State, n.Owner, n.Rev, e)
		}
	}
}
