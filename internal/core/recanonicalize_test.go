package core_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// A run that is interrupted at any commit continues when it is repeated.
func TestRecanonicalizeInterrupted(t *testing.T) {
	t.Parallel()
	for stop := 1; ; stop++ {
		f := coretest.NewFixture(t, coretest.ExactSlugs())
		for i := range 8 {
			f.Must(coretest.Claim("slug", fmt.Sprintf("Name-%d", i), dibs.Entity{Type: "user", ID: fmt.Sprint(i)}))
		}
		ctx, cancel := context.WithCancel(f.Ctx)
		store := &coretest.StopStore{Store: f.Engine, At: stop, Stop: cancel}
		reg := coretest.MustOpen(t, store, dibs.Config{Policies: coretest.FoldedSlugs(), MaxBatch: 2})
		_, err := reg.Recanonicalize(ctx, dibs.RecanonicalizeRequest{Namespace: "slug"})
		cancel()
		if err == nil {
			return // the run ended before this commit
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		g := f.Reopened(coretest.FoldedSlugs())
		g.MustRecanonicalize(false)
		for i := range 8 {
			if n := g.NameOf("slug", fmt.Sprintf("NAME-%d", i)); n.State != dibs.Active || n.Epoch != 1 {
				t.Fatalf("stopped at commit %d: %+v", stop, n)
			}
		}
		if stop > 20 {
			t.Fatal("the run does not end")
		}
	}
}

// manyNames claims more names than one page of a run has.
func manyNames(f *coretest.Fixture, prefix string) {
	f.T.Helper()
	for i := range 600 {
		f.Must(coretest.Claim("slug", fmt.Sprintf("%s%04d", prefix, i), dibs.Entity{Type: "u", ID: fmt.Sprint(i)}))
	}
}

// A second run takes over: the first one ends, and changes nothing more.
func TestRecanonicalizeTwiceAtOnce(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.ExactSlugs())
	manyNames(f, "N")
	g, h := f.Reopened(coretest.FoldedSlugs()), f.Reopened(map[string]dibs.Policy{"slug": {Profile: coretest.Upper{}}})
	begun := false
	_, err := g.Recanonicalize(f.Ctx, dibs.RecanonicalizeRequest{Namespace: "slug", Progress: func(int, int) {
		if begun {
			return
		}
		begun = true
		h.MustRecanonicalize(false)
		h.Must(coretest.Claim("slug", "aaa", coretest.User1))
	}})
	f.WantError(err, dibs.ErrUnavailable)
	g.Refused(dibs.ErrUnavailable, coretest.Claim("slug", "aaa", coretest.User2))
	g.MustRecanonicalize(false)
	for _, value := range []string{"AAA", "n0001", "N0599"} {
		g.Refused(dibs.ErrNameTaken, coretest.Reserve("slug", value, coretest.Token1))
	}
}

// A run keeps the policies that it began with.
func TestRecanonicalizeKeepsItsPolicies(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.ExactSlugs())
	manyNames(f, "Nn")
	g := f.Reopened(coretest.FoldedSlugs())
	_, err := g.Recanonicalize(f.Ctx, dibs.RecanonicalizeRequest{Namespace: "slug", Progress: func(int, int) {
		if err := g.SetPolicies(map[string]dibs.Policy{"slug": {Profile: coretest.Upper{}}}, dibs.Policy{}); err != nil {
			t.Error(err)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	f.Reopened(coretest.FoldedSlugs()).Refused(dibs.ErrNameTaken, coretest.Reserve("slug", "nn0599", coretest.Token1))
}

// listingStore calls then after the last of its lists.
type listingStore struct {
	coretest.StrictStore
	left int
	then func()
}

func (s *listingStore) List(ctx context.Context, query dibs.ListQuery) ([]dibs.Record, error) {
	records, err := s.StrictStore.List(ctx, query)
	if s.left--; s.left == 0 {
		s.then()
	}
	return records, err
}

// A name that becomes free after it was listed stays in its row. A row that was purged is skipped.
func TestRecanonicalizeSkipsFreeNames(t *testing.T) {
	t.Parallel()
	for what, purged := range map[string]bool{"released": false, "purged": true} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			f := coretest.NewFixture(t, coretest.ExactSlugs())
			hold := f.One(coretest.Reserve("slug", "Held", coretest.Token1))
			// The name is listed for the plan, and again for the change.
			store := &listingStore{StrictStore: coretest.StrictStore{Store: f.Engine, T: t}, left: 2, then: func() {
				f.Must(dibs.Release{ID: hold.ID, Token: coretest.Token1})
				if purged {
					f.Clock.Advance(time.Hour)
					f.SweepAll()
				}
			}}
			g := f.With(coretest.MustOpen(t, store, dibs.Config{Policies: coretest.FoldedSlugs()}))
			if done := g.MustRecanonicalize(false); done.Looked != 1 || done.Done != 0 {
				t.Errorf("%+v", done)
			}
			g.WantState("slug", "held", dibs.Free)
			if n, err := g.Get(g.Ctx, dibs.Lookup{ID: hold.ID}); !purged && (err != nil || n.Canonical != "Held") {
				t.Errorf("%+v, %v", n, err)
			}
			g.Must(coretest.Claim("slug", "held", coretest.User1))
		})
	}
}
