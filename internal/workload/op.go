package workload

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/calldibs/dibs"
)

// Op is a kind of call.
type Op string

// The kinds of calls.
const (
	Reserve   Op = "reserve"   // a hold on a new name
	Lifecycle Op = "lifecycle" // reserve, confirm and decommission of a new name, measured together
	Stampede  Op = "stampede"  // all callers reserve the same name; one wins, and then the next name
	Resolve   Op = "resolve"   // a name of the load
	Check     Op = "check"     // a name that is taken or one that is free, in turn
	Rename    Op = "rename"    // an entity of the caller gets a new name
)

// AllOps are all kinds of calls.
var AllOps = []Op{Reserve, Lifecycle, Stampede, Resolve, Check, Rename}

var ops = map[Op]func(*worker, context.Context) error{
	Reserve: (*worker).reserve, Lifecycle: (*worker).lifecycle, Stampede: (*worker).stampede,
	Resolve: (*worker).resolve, Check: (*worker).check, Rename: (*worker).rename,
}

func (w *worker) reserve(ctx context.Context) error {
	_, err := w.reserveName(ctx, w.newName())
	return err
}

func (w *worker) reserveName(ctx context.Context, value string) (dibs.Hold, error) {
	return w.registry.Reserve(ctx, dibs.Reserve{Namespace: w.cfg.Namespace, Value: value, TTL: dibs.For(holdTime)})
}

func (w *worker) lifecycle(ctx context.Context) error {
	value := w.newName()
	hold, err := w.reserveName(ctx, value)
	if err != nil {
		return err
	}
	owner := dibs.Entity{Type: "bench", ID: value}
	if _, err := w.registry.Confirm(ctx, dibs.Confirm{ID: hold.ID, Token: hold.Token, Entity: owner}); err != nil {
		return err
	}
	_, err = w.registry.Decommission(ctx, dibs.Decommission{Namespace: w.cfg.Namespace, Value: value, Entity: owner})
	return err
}

func (w *worker) stampede(ctx context.Context) error {
	prize := w.run.prize.Load()
	_, err := w.reserveName(ctx, fmt.Sprintf("run-%s-prize-%d", w.run.id, prize))
	w.run.prize.CompareAndSwap(prize, prize+1) // the name is taken, by this caller or another
	return err
}

func (w *worker) resolve(ctx context.Context) error {
	_, err := w.registry.Resolve(ctx, w.cfg.Namespace, LoadedName(w.random.IntN(w.cfg.Names)))
	return err
}

func (w *worker) check(ctx context.Context) error {
	value := LoadedName(w.random.IntN(w.cfg.Names))
	if w.made++; w.made%2 == 0 {
		value = w.newName()
	}
	_, err := w.registry.Check(ctx, dibs.CheckRequest{Namespace: w.cfg.Namespace, Values: []string{value}})
	return err
}

func (w *worker) rename(ctx context.Context) error {
	value := w.newName()
	if w.entity.IsZero() {
		entity := dibs.Entity{Type: "bench", ID: value}
		_, err := w.registry.Claim(ctx, dibs.Claim{Namespace: w.cfg.Namespace, Value: value, Entity: entity})
		if err == nil {
			w.entity = entity
		}
		return err
	}
	_, err := w.registry.Rename(ctx, dibs.Rename{Namespace: w.cfg.Namespace, Value: value, Entity: w.entity})
	return err
}

// Mix is how often each kind of call is made, relative to the others.
type Mix map[Op]int

// ParseMix parses "reserve", or "reserve=1,resolve=20".
func ParseMix(text string) (Mix, error) {
	mix := make(Mix)
	for part := range strings.SplitSeq(text, ",") {
		name, weight, given := strings.Cut(strings.TrimSpace(part), "=")
		op, n := Op(name), 1
		if given {
			var err error
			if n, err = strconv.Atoi(weight); err != nil || n < 0 || n > 1_000_000 {
				return nil, fmt.Errorf("%q is not a share: use a number up to 1,000,000, as in reserve=1,resolve=20", weight)
			}
		}
		if ops[op] == nil {
			return nil, fmt.Errorf("unknown call %q: use %s", name, JoinOps(", "))
		}
		mix[op] += n
	}
	return mix, mix.check()
}

// JoinOps lists all kinds of calls.
func JoinOps(separator string) string {
	names := make([]string, len(AllOps))
	for i, op := range AllOps {
		names[i] = string(op)
	}
	return strings.Join(names, separator)
}

// String returns the mix in the form that ParseMix reads.
func (m Mix) String() string {
	var parts []string
	for _, op := range AllOps {
		switch n := m[op]; {
		case n > 0 && n == m.total():
			return string(op)
		case n > 0:
			parts = append(parts, fmt.Sprintf("%s=%d", op, n))
		}
	}
	return strings.Join(parts, ",")
}

func (m Mix) total() (sum int) {
	for _, n := range m {
		sum += n
	}
	return sum
}

func (m Mix) check() error {
	if m.total() < 1 {
		return fmt.Errorf("the mix has no calls: use %s", JoinOps(", "))
	}
	return nil
}

func (m Mix) needsNames() bool { return m[Resolve] > 0 || m[Check] > 0 }

// choose returns a random kind of call.
func (m Mix) choose(random *rand.Rand) Op {
	at := random.IntN(m.total())
	i := slices.IndexFunc(AllOps, func(op Op) bool {
		at -= m[op]
		return at < 0
	})
	return AllOps[i]
}
