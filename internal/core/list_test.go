package core_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/internal/record"
	"github.com/calldibs/dibs/internal/rules"
)

// behind is an engine on which always more is due than a listing looks at: documents, say.
type behind struct{ dibs.Store }

func (s behind) Due(_ context.Context, limit int) ([]dibs.Ref, error) {
	return slices.Repeat([]dibs.Ref{{Kind: dibs.KindTally}}, limit), nil
}

// sweptFirst is an engine on which some names are swept just before it lists names.
type sweptFirst struct {
	dibs.Store
	sweep func()
}

func (s sweptFirst) List(ctx context.Context, query dibs.ListQuery) ([]dibs.Record, error) {
	s.sweep()
	return s.Store.List(ctx, query)
}

// A listing has each name once and in order, in the state that it has by now, whatever is stored,
// also while the sweeper is behind.
func TestListIsExact(t *testing.T) {
	t.Parallel()
	seeds := uint64(15)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		random := rand.New(rand.NewPCG(seed, 7))
		f := coretest.NewFixture(t, map[string]dibs.Policy{
			"slug":    {AliasRetention: 20 * time.Minute, Quarantine: 30 * time.Minute},
			"watched": {Witness: coretest.AlwaysUnknown},
		})
		late := f.With(coretest.MustOpen(t, behind{f.Engine}, dibs.Config{}))
		swept := f.With(coretest.MustOpen(t, sweptFirst{f.Engine, func() { sweepSome(f, 1+random.IntN(5)) }}, dibs.Config{}))
		for i := range 120 {
			liveALittle(f, random, i)
		}
		for i := range 40 {
			query := dibs.NamesQuery{State: pick(random, "", dibs.Held, dibs.Suspect, dibs.Active, dibs.Alias, dibs.Quarantined, dibs.Free)}
			query.Namespace = pick(random, "", "slug", "watched", "other")
			query.Prefix = pick(random, "", "", "n1", "n2")
			query.Limit = 1 + random.IntN(20)
			want := wantedNames(f, query)
			if got := listNames(f, query); got != want {
				t.Fatalf("seed %d, %+v: %s, want %s", seed, query, got, want)
			}
			if got := listNames(late, query); got != want {
				t.Fatalf("seed %d, %+v while the sweeper is behind: %s, want %s", seed, query, got, want)
			}
			if got := listNames(swept, query); got != want {
				t.Fatalf("seed %d, %+v with a sweep in between: %s, want %s", seed, query, got, want)
			}
			liveALittle(f, random, 1000+i)
		}
	}
}

func pick[T any](random *rand.Rand, values ...T) T { return values[random.IntN(len(values))] }

// liveALittle makes a name, possibly ends it, lets time pass, and sweeps now and then.
func liveALittle(f *coretest.Fixture, random *rand.Rand, i int) {
	value, entity := fmt.Sprint("n", random.IntN(1000)+1000*i), dibs.Entity{Type: "user", ID: fmt.Sprint(i)}
	switch random.IntN(6) {
	case 0:
		f.Must(coretest.Reserve("watched", value, coretest.Token1))
	case 1:
		f.Must(coretest.Claim("slug", value, entity), coretest.Rename("slug", value+"-new", entity))
	case 2:
		f.Must(coretest.Claim("slug", value, entity), coretest.Decommission("slug", value, entity))
	case 3: // out of quarantine, to which the hold returns
		f.Must(coretest.Claim("slug", value, entity), coretest.Decommission("slug", value, entity),
			dibs.Reserve{Namespace: "slug", Value: value, Token: coretest.Token1, Entity: entity})
	default:
		f.Must(coretest.Reserve(pick(random, "slug", "other"), value, coretest.Token1))
	}
	f.Clock.Advance(time.Duration(random.IntN(60)) * time.Second)
	if random.IntN(20) == 0 {
		sweepSome(f, 1+random.IntN(10))
	}
}

func sweepSome(f *coretest.Fixture, limit int) {
	f.T.Helper()
	if _, err := f.Sweep(f.Ctx, limit); err != nil {
		f.T.Fatal(err)
	}
}

// wantedNames returns what a listing should have, from all that is stored.
func wantedNames(f *coretest.Fixture, query dibs.NamesQuery) string {
	keys := []string{}
	records := f.Records(dibs.KindName)
	slices.SortFunc(records, func(a, b dibs.Record) int {
		return record.ComparePositions(record.Position(a), record.Position(b))
	})
	for _, r := range records {
		n := r.(*dibs.NameRecord)
		state := rules.StateAsOf(n, dibs.InstantOf(f.Clock.Now()))
		if (query.Namespace == "" || query.Namespace == n.Namespace) && strings.HasPrefix(n.Canonical, query.Prefix) &&
			(state == query.State || (query.State == "" && state != dibs.Free)) {
			keys = append(keys, n.Namespace+":"+n.Canonical)
		}
	}
	return fmt.Sprint(keys)
}
