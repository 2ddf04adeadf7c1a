package nametest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/calldibs/dibs"
)

// DryRuns tests that a dry run changes nothing, and that the command right after it is refused
// alike or commits the events that the dry run returned: for many commands in random order.
func DryRuns(t *testing.T, newHarness func(tb testing.TB) *Harness) {
	t.Helper()
	unsure := func(context.Context, dibs.SuspectHold) (dibs.Verdict, error) { return dibs.Unknown, nil }
	d := &dryRuns{T: t, random: rand.New(rand.NewPCG(1, 2)), holds: make(map[dibs.ID]string), done: make(map[string]int)}
	h := newHarness(t)
	if h.DryRuns == 0 && testing.Short() {
		t.Skip("one goroutine has no race")
	}
	d.reg = h.open(t, dibs.Config{Policies: map[string]dibs.Policy{
		"slug": {Quarantine: time.Hour, AliasRetention: 24 * time.Hour},
		"tag":  {ManyPerEntity: true},
		"seen": {MinTTL: time.Second / 2, Witness: unsure},
	}})
	for range cmp.Or(h.DryRuns, 150) {
		d.step(d.command())
	}
	d.settle()
	for _, op := range []string{
		"reserve", "reserveAll", "extend", "confirm", "release", "claim", "rename", "archive", "restore", "delete", "decommission",
		"transfer", "swap", "settle",
	} {
		if d.done[op] == 0 {
			t.Errorf("no %s was accepted: the test says nothing about it", op)
		}
	}
}

type dryRuns struct {
	*testing.T
	reg    *dibs.Registry
	random *rand.Rand
	holds  map[dibs.ID]string // tokens
	done   map[string]int     // accepted commands by op

	reserved []dibs.ID // every name that was reserved so far
}

// step runs a command twice, dry and for real.
func (d *dryRuns) step(command dibs.Command) {
	d.Helper()
	ctx := d.Context()
	before := d.everything()
	end, err := d.reg.Events(ctx, dibs.FeedQuery{After: dibs.Latest})
	if err != nil {
		d.Fatal(err)
	}
	dry, refused := d.reg.DryRun(ctx, command)
	if after := d.everything(); after != before {
		d.Fatalf("a dry run of %+v changed\n%s\nto\n%s", command, before, after)
	}
	if page, err := d.reg.Events(ctx, dibs.FeedQuery{After: end.Next}); err != nil || len(page.Events) > 0 {
		d.Fatalf("a dry run of %+v committed %v, %v", command, page.Events, err)
	}
	results, err := d.reg.Apply(ctx, command)
	if codeOf(err) != codeOf(refused) {
		d.Fatalf("%+v: the dry run says %v, and then it is %v", command, refused, err)
	}
	page, failed := d.reg.Events(ctx, dibs.FeedQuery{After: end.Next, Limit: 1000})
	if failed != nil {
		d.Fatal(failed)
	}
	if err != nil {
		if len(page.Events) > 0 {
			d.Fatalf("%+v was refused and committed %v", command, page.Events)
		}
		return
	}
	d.done[command.Op()]++
	if want, got := timeless(dry[0].Events), timeless(page.Events); !reflect.DeepEqual(got, want) {
		d.Fatalf("%+v: the dry run says\n%+v\nand the command did\n%+v", command, want, got)
	}
	if results[0].Events != nil {
		d.Fatalf("%+v: the result of a command has events, which only a dry run has", command)
	}
	for _, n := range results[0].Names {
		if results[0].Token != "" {
			d.holds[n.ID] = results[0].Token
			d.reserved = append(d.reserved, n.ID)
		}
	}
}

// timeless returns events without what differs from one run to the next: cursors and times.
func timeless(events []dibs.Event) []dibs.Event {
	if len(events) == 0 {
		return nil
	}
	events = slices.Clone(events)
	for i := range events {
		e := &events[i]
		e.Cursor, e.At = "", 0
		for _, s := range []*dibs.Snapshot{&e.Before, &e.After} {
			s.Until = min(s.Until, 1) // whether there is an end
		}
	}
	return events
}

func codeOf(err error) dibs.Code {
	var refused *dibs.Error
	errors.As(err, &refused)
	if refused == nil {
		return ""
	}
	return refused.Code
}

// everything returns all that a reader can see, but how long holds last by now.
func (d *dryRuns) everything() string {
	d.Helper()
	ctx := d.Context()
	questions := []func() (string, error){
		func() (string, error) { return d.names(dibs.NamesQuery{Limit: 1000}) },
		func() (string, error) { return d.names(dibs.NamesQuery{Limit: 1000, State: dibs.Free}) },
	}
	for _, entity := range dryEntities {
		questions = append(questions, func() (string, error) {
			info, err := d.reg.Entity(ctx, "", entity)
			return fmt.Sprintf("%v %d %v %v\n", entity, info.Version, info.Archived, codeOf(err)), nil
		})
	}
	answers, errs := make([]string, len(questions)), make([]error, len(questions))
	var asking sync.WaitGroup
	for i, ask := range questions {
		asking.Go(func() { answers[i], errs[i] = ask() })
	}
	asking.Wait()
	if err := errors.Join(errs...); err != nil {
		d.Fatal(err)
	}
	return strings.Join(answers, "")
}

func (d *dryRuns) names(query dibs.NamesQuery) (string, error) {
	page, err := d.reg.List(d.Context(), query)
	var text strings.Builder
	for _, n := range page.Names {
		n.Remaining = 0
		fmt.Fprintf(&text, "%+v\n", n)
	}
	return text.String(), err
}

var dryEntities = []dibs.Entity{{Type: "wedding", ID: "1"}, {Type: "wedding", ID: "2"}, {Type: "wedding", ID: "3"}}

// command returns a random command about a few names and entities.
func (d *dryRuns) command() dibs.Command {
	pick := func(list ...string) string { return list[d.random.IntN(len(list))] }
	value := func() string { return pick("spring", "summer", "autumn", "winter") }
	entity := func() dibs.Entity { return dryEntities[d.random.IntN(len(dryEntities))] }
	namespace := pick("slug", "slug", "slug", "tag")
	var held dibs.ID
	if len(d.reserved) > 0 {
		held = d.reserved[d.random.IntN(len(d.reserved))]
	}
	switch d.random.IntN(14) {
	case 0, 1:
		return dibs.Reserve{Namespace: namespace, Value: value(), TTL: dibs.For(time.Hour), Token: dibs.NewToken()}
	case 2:
		return dibs.ReserveAll{Token: dibs.NewToken(), Reservations: []dibs.Reserve{
			{Namespace: "slug", Value: value() + pick("-1", "-2", "-3"), TTL: dibs.For(time.Hour)},
			{Namespace: "tag", Value: value() + pick("-1", "-2", "-3"), TTL: dibs.For(time.Hour)},
		}}
	case 3:
		return dibs.Extend{ID: held, Token: d.holds[held], TTL: dibs.For(2 * time.Hour)}
	case 4, 5:
		return dibs.Confirm{ID: held, Token: d.holds[held], Entity: entity(), Replace: namespace == "slug"}
	case 6:
		return dibs.Release{ID: held, Token: d.holds[held]}
	case 7:
		return dibs.Claim{Namespace: namespace, Value: value(), Entity: entity()}
	case 8:
		return dibs.Rename{Namespace: "slug", Value: value(), Entity: entity()}
	case 9:
		if d.random.IntN(2) == 0 {
			return dibs.Archive{Entity: entity()}
		}
		return dibs.Restore{Entity: entity()}
	case 10:
		if d.random.IntN(3) == 0 {
			return dibs.Delete{Entity: entity()}
		}
		return dibs.Restore{Entity: entity()}
	case 11:
		return dibs.Decommission{Namespace: namespace, Value: value(), Entity: entity()}
	case 12:
		return dibs.Transfer{Namespace: namespace, Value: value(), From: entity(), To: entity()}
	default:
		return d.swap()
	}
}

// swap returns a swap of two active names, if there are two.
func (d *dryRuns) swap() dibs.Command {
	page, err := d.reg.List(d.Context(), dibs.NamesQuery{Namespace: "slug", State: dibs.Active})
	if err != nil {
		d.Fatal(err)
	}
	if len(page.Names) < 2 {
		return dibs.Claim{Namespace: "slug", Value: "swapped", Entity: dryEntities[d.random.IntN(len(dryEntities))]}
	}
	a, b := page.Names[0], page.Names[1]
	return dibs.Swap{
		Namespace: "slug", A: dibs.Named{Value: a.Value, Entity: a.Entity}, B: dibs.Named{Value: b.Value, Entity: b.Entity},
	}
}

// settle settles two suspects.
func (d *dryRuns) settle() {
	d.Helper()
	const ttl = time.Second / 2
	for value, verdict := range map[string]dibs.Verdict{"here": dibs.Exists(dryEntities[0]), "gone": dibs.Absent} {
		hold, err := d.reg.Reserve(d.Context(), dibs.Reserve{Namespace: "seen", Value: value, TTL: dibs.For(ttl)})
		for errors.Is(err, dibs.ErrUnavailable) { // on a busy machine the hold may be over before it is committed
			hold, err = d.reg.Reserve(d.Context(), dibs.Reserve{Namespace: "seen", Value: value, TTL: dibs.For(ttl)})
		}
		if err != nil {
			d.Fatal(err)
		}
		for {
			name, err := d.reg.Get(d.Context(), dibs.Lookup{ID: hold.ID})
			if err != nil {
				d.Fatal(err)
			}
			if name.State == dibs.Suspect {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		d.step(dibs.Settle{ID: hold.ID, Verdict: verdict})
	}
}
