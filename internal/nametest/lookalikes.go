package nametest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

const (
	processes = 4
	callers   = 12
)

// LookAlikes races for look-alikes with several registries on one engine.
func LookAlikes(t *testing.T, newHarness func(tb testing.TB) *Harness) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, *Harness){
		"OneWinner":      oneWinner,
		"ComeAndGo":      comeAndGo,
		"InTransactions": lookAlikesInTx,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newHarness(t)
			if name == "InTransactions" && p.InTx == nil {
				t.Skip("the engine does not support the caller's own transactions")
			}
			test(t, p)
		})
	}
}

// openLookAlikes opens registries that refuse look-alikes.
func openLookAlikes(t *testing.T, p *Harness) []*dibs.Registry {
	t.Helper()
	cfgs := make([]dibs.Config, processes)
	for i := range cfgs {
		cfgs[i] = dibs.Config{Suggestions: -1, Policies: map[string]dibs.Policy{"slug": {Skeleton: coretest.Digits{}}}}
	}
	return p.openAll(t, cfgs...)
}

func rounds(usually, short int) int {
	if testing.Short() {
		return short
	}
	return usually
}

func user(parts ...any) dibs.Entity { return dibs.Entity{Type: "user", ID: fmt.Sprint(parts...)} }

// wanting returns the command with which a caller tries to get a name: one of all kinds.
func wanting(caller, round int, value string) dibs.Command {
	switch caller % 4 {
	case 0:
		return dibs.Reserve{Namespace: "slug", Value: value}
	case 1:
		return dibs.Reserve{Namespace: "slug", Value: value, Entity: user(caller, "in", round)}
	case 2:
		return dibs.Claim{Namespace: "slug", Value: value, Entity: user(caller, "in", round)}
	default: // one entity in all rounds: its former names become aliases
		return dibs.Rename{Namespace: "slug", Value: value, Entity: user("mover", caller)}
	}
}

// oneWinner lets all callers try to get a spelling of the same name, some of them the same
// spelling. One succeeds, and all others get the reason of their refusal.
func oneWinner(t *testing.T, p *Harness) {
	regs := openLookAlikes(t, p)
	const ways = callers - 2
	for round := range rounds(25, 6) {
		var winners [callers]bool
		var refusals [callers]error
		atOnce(callers, func(i int) {
			_, refusals[i] = regs[(i+round)%len(regs)].Apply(t.Context(), wanting(i, round, spell(round, i%ways)))
			winners[i] = refusals[i] == nil
		})
		winner := -1
		for i, won := range winners {
			if won && winner >= 0 {
				t.Fatalf("round %d: callers %d and %d both won", round, winner, i)
			} else if won {
				winner = i
			}
		}
		if winner < 0 {
			t.Fatalf("round %d: no caller won: %v", round, refusals)
		}
		for i, err := range refusals {
			if i != winner {
				checkLoser(t, err, i%ways == winner%ways)
			}
		}
	}
	checkFeed(t, regs[0])
}

// checkLoser demands the refusal of a name that is taken, or that looks like one.
func checkLoser(t *testing.T, err error, same bool) {
	t.Helper()
	var e *dibs.Error
	switch {
	case !errors.As(err, &e) || e.Code != dibs.CodeNameTaken:
		t.Errorf("a loser got %v", err)
	case same && e.Reason != dibs.ReasonHeld && e.Reason != dibs.ReasonInUse:
		t.Errorf("a loser of the same name got the reason %s", e.Reason)
	case !same && e.Reason != dibs.ReasonConfusable:
		t.Errorf("a loser of a look-alike got the reason %s", e.Reason)
	}
}

// owners records which entity owns a name, in any spelling.
type owners struct {
	mu    sync.Mutex
	names map[int]string
}

func (o *owners) take(name int, who string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if other := o.names[name]; other != "" {
		return fmt.Errorf("%s got a spelling of %d while %s had one", who, name, other)
	}
	o.names[name] = who
	return nil
}

func (o *owners) leave(name int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.names, name)
}

// comeAndGo lets few names be taken and given up repeatedly, in every way. An owner can use
// all commands for its name while it has it.
func comeAndGo(t *testing.T, p *Harness) {
	regs := openLookAlikes(t, p)
	known := &owners{names: make(map[int]string)}
	atOnce(callers, func(i int) {
		for round := range rounds(12, 5) {
			v := visit{t: t, regs: regs, known: known, name: rand.IntN(3), me: user(i, "in", round)}
			if err := v.run(rand.IntN(4)); err != nil {
				t.Errorf("caller %d in round %d: %v", i, round, err)
				return
			}
		}
	})
	if n := checkFeed(t, regs[1]); n < callers {
		t.Errorf("the feed has %d events", n)
	}
}

// visit is one caller that takes and gives up a name. Each command goes through another process.
type visit struct {
	t     *testing.T
	regs  []*dibs.Registry
	known *owners
	name  int
	me    dibs.Entity
}

func (v *visit) apply(command dibs.Command) (dibs.Result, error) {
	results, err := v.regs[rand.IntN(len(v.regs))].Apply(context.Background(), command)
	if err != nil {
		return dibs.Result{}, fmt.Errorf("%T: %w", command, err)
	}
	return results[0], nil
}

func (v *visit) run(way int) error {
	value := spell(v.name, rand.IntN(spellings))
	var command dibs.Command
	switch way {
	case 0:
		command = dibs.Reserve{Namespace: "slug", Value: value}
	case 1:
		command = dibs.Reserve{Namespace: "slug", Value: value, Entity: v.me}
	case 2:
		command = dibs.Claim{Namespace: "slug", Value: value, Entity: v.me}
	default:
		command = dibs.Rename{Namespace: "slug", Value: value, Entity: v.me}
	}
	result, err := v.apply(command)
	if errors.Is(err, dibs.ErrNameTaken) {
		return nil
	} else if err != nil {
		return err
	}
	if err := v.known.take(v.name, v.me.String()); err != nil {
		return err
	}
	if way > 1 {
		return v.own(value)
	}
	id := result.Names[0].ID
	if rand.IntN(2) == 0 {
		v.known.leave(v.name) // before it is free: another caller may take it at once
		_, err := v.apply(dibs.Release{ID: id, Token: result.Token})
		return err
	}
	if _, err := v.apply(dibs.Confirm{ID: id, Token: result.Token, Entity: v.me}); err != nil {
		return err
	}
	return v.own(value)
}

// own uses the commands of an owner: it takes look-alikes, gives up some of them, and
// transfers the last one.
func (v *visit) own(value string) error {
	last, twin := value, spell(v.name, rand.IntN(spellings))
	heir := dibs.Entity{Type: "heir", ID: v.me.ID}
	if twin != value {
		if _, err := v.apply(dibs.Rename{Namespace: "slug", Value: twin, Entity: v.me}); err != nil {
			return err
		}
		_, err := v.apply(dibs.Transfer{Namespace: "slug", Value: value, From: v.me, To: heir})
		if !errors.Is(err, dibs.ErrNameTaken) {
			return fmt.Errorf("separating look-alikes: %w", err)
		}
		gone := twin
		if rand.IntN(2) == 0 {
			last, gone = gone, last
		}
		if _, err := v.apply(dibs.Decommission{Namespace: "slug", Value: gone, Entity: v.me}); err != nil {
			return err
		}
	}
	if _, err := v.apply(dibs.Transfer{Namespace: "slug", Value: last, From: v.me, To: heir}); err != nil {
		return err
	}
	v.known.leave(v.name)
	_, err := v.apply(dibs.Decommission{Namespace: "slug", Value: last, Entity: heir})
	return err
}

// errUndone rolls a transaction back.
var errUndone = errors.New("undone")

// lookAlikesInTx races for look-alikes inside the callers' own transactions, and outside of
// them. One caller always rolls back: another one gets the name.
func lookAlikesInTx(t *testing.T, p *Harness) {
	regs := openLookAlikes(t, p)
	const callers = 8
	for round := range rounds(12, 4) {
		var refusals [callers]error
		atOnce(callers, func(i int) {
			reg, want := regs[(i+round)%len(regs)], wanting(i, round, spell(round, i))
			if i%4 == 3 { // outside of transactions
				_, refusals[i] = reg.Apply(t.Context(), want)
				return
			}
			refusals[i] = p.inTx(t.Context(), reg, func(bound *dibs.Registry) error {
				_, err := bound.Apply(t.Context(), want)
				if err == nil && i == 0 {
					err = errUndone
				}
				return err
			})
		})
		winners := 0
		for i, err := range refusals {
			switch {
			case err == nil:
				winners++
			case i == 0 && errors.Is(err, errUndone):
			default:
				checkLoser(t, err, false)
			}
		}
		if winners != 1 {
			t.Fatalf("round %d has %d winners: %v", round, winners, refusals)
		}
	}
	checkFeed(t, regs[0])
}
