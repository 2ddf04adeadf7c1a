package core_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// roundTrips counts the calls of an engine.
type roundTrips struct {
	dibs.Store
	loads, awaits, commits int
}

func (s *roundTrips) Load(ctx context.Context, refs []dibs.Ref) (dibs.LoadResult, error) {
	s.loads++
	return s.Store.Load(ctx, refs)
}

func (s *roundTrips) Await(ctx context.Context, refs []dibs.Ref, end dibs.Instant) error {
	s.awaits++
	return s.Store.Await(ctx, refs, end)
}

func (s *roundTrips) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	s.commits++
	return s.Store.Commit(ctx, groups)
}

// clockedRoundTrips also has a clock, so that the registry guesses.
type clockedRoundTrips struct{ *roundTrips }

func (s clockedRoundTrips) Now() (dibs.Instant, bool) { return s.Store.(dibs.Clock).Now() }

// nowhere are grants that show no reservation of another principal.
type nowhere struct{}

func (nowhere) Allow(dibs.Command, string) bool { return false }
func (nowhere) RightsIn(string) dibs.Rights     { return dibs.Operate | dibs.ActForOthers }

// In every state, a reservation that a principal may not see costs as many calls of the engine as one
// that does not exist. Otherwise the response time would reveal it.
func TestHiddenCostsWhatAbsentCosts(t *testing.T) {
	t.Parallel()
	for name, guessing := range map[string]bool{"loading": false, "guessing": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := hiddenNames(t)
			store := &roundTrips{Store: coretest.StrictStore{Store: f.Engine, T: t}}
			engine := dibs.Store(store)
			if guessing {
				engine = clockedRoundTrips{store}
			}
			registry := coretest.MustOpen(t, engine, dibs.Config{Policies: coretest.FoldedSlugs()})
			for _, value := range []string{"held", "over", "active", "alias", "given-up", "Moved"} {
				for what, ask := range byID(f.Ctx, registry) {
					// Twice, since what is remembered after the first must not reveal it either.
					for range 2 {
						cost := func(value string) (calls roundTrips, refusal string) {
							id := dibs.NameID("slug", value)
							store.loads, store.awaits, store.commits = 0, 0, 0
							err := ask(id)
							if err == nil {
								t.Fatalf("%s of %s succeeds", what, value)
							}
							calls = *store
							calls.Store = nil
							return calls, strings.ReplaceAll(err.Error(), id.String(), "")
						}
						hidden, refusal := cost(value)
						absent, none := cost("absent")
						if hidden != absent || refusal != none {
							t.Errorf("%s of a reservation that is %s: %+v, %s; that is absent: %+v, %s", what, value, hidden, refusal, absent, none)
						}
					}
				}
			}
		})
	}
}

// hiddenNames returns a fixture with a name in each state, named by it.
func hiddenNames(t *testing.T) *coretest.Fixture {
	t.Helper()
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {HoldHistory: time.Hour, Quarantine: time.Hour}})
	f.Must(coretest.Claim("slug", "Moved", coretest.User3))
	g := f.Reopened(map[string]dibs.Policy{"slug": {Profile: coretest.Lower{}, HoldHistory: time.Hour, Quarantine: time.Hour}})
	g.MustRecanonicalize(false)
	g.Must(coretest.Reserve("slug", "over", coretest.Token1))
	g.Clock.Advance(dibs.DefaultTTL)
	g.Must(coretest.Claim("slug", "alias", coretest.User1), coretest.Rename("slug", "active", coretest.User1), coretest.Reserve("slug", "held", coretest.Token2))
	g.Must(coretest.Claim("slug", "given-up", coretest.User2), dibs.Decommission{Namespace: "slug", Value: "given-up", Entity: coretest.User2})
	return f
}

// byID returns all reads and commands that name a reservation by its ID.
func byID(ctx context.Context, registry *dibs.Registry) map[string]func(id dibs.ID) error {
	other := registry.As(dibs.Principal{Name: "other", Grants: nowhere{}})
	asks := map[string]func(id dibs.ID) error{
		"get": func(id dibs.ID) error {
			_, err := registry.Get(ctx, dibs.Lookup{ID: id, Version: true, Visible: func(string) bool { return false }})
			return err
		},
	}
	for what, command := range map[string]func(id dibs.ID) dibs.Command{
		"extend": func(id dibs.ID) dibs.Command { return dibs.Extend{ID: id, Token: coretest.Token1} },
		"confirm": func(id dibs.ID) dibs.Command {
			return dibs.Confirm{ID: id, Token: coretest.Token1, Entity: coretest.User1}
		},
		"replace": func(id dibs.ID) dibs.Command {
			return dibs.Confirm{ID: id, Token: coretest.Token1, Entity: coretest.User1, Replace: true}
		},
		"release": func(id dibs.ID) dibs.Command { return dibs.Release{ID: id, Token: coretest.Token1} },
		"settle":  func(id dibs.ID) dibs.Command { return dibs.Settle{ID: id, Verdict: dibs.Exists(coretest.User1)} },
	} {
		asks[what] = func(id dibs.ID) error {
			_, err := other.Apply(ctx, command(id))
			return err
		}
		asks["dry "+what] = func(id dibs.ID) error {
			_, err := other.DryRun(ctx, coretest.Reserve("own", "a", coretest.Token1), command(id))
			return err
		}
	}
	return asks
}
