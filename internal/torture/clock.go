package torture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/calldibs/dibs"
	stores "github.com/calldibs/dibs/internal/engine"
)

// The clock of an engine jumps by up to farthest, and back. A server must say so if it is more than
// noticed.
const (
	farthest = 3 * time.Hour
	noticed  = 3 * time.Second
)

// isClock reports whether a fault moves a clock.
func isClock(f fault) bool { return f.clock }

// ofRound returns the faults of a round, and how far clocks may jump in it. Holds that end while a
// clock jumps can end twice, so clocks jump in every second round, in which holds are long.
func (t *run) ofRound(number uint64) (faults []fault, jumps time.Duration) {
	steady := slices.DeleteFunc(slices.Clone(t.faults), isClock)
	if len(steady) == len(t.faults) || len(steady) > 0 && number%2 == 1 {
		return steady, 0
	}
	return t.faults, farthest
}

// roundLength is how long a round lasts: there is time for one with steady clocks, and one without.
func (t *run) roundLength() time.Duration {
	if t.For > 0 && slices.ContainsFunc(t.faults, isClock) {
		return min(mostOfRound, t.For/2)
	}
	return mostOfRound
}

// jump draws how far a clock jumps: from seconds to hours, ahead or back.
func jump(random *rand.Rand) time.Duration {
	by := time.Duration(float64(noticed) * math.Pow(float64(farthest)/float64(noticed), random.Float64()))
	if random.IntN(2) == 0 {
		return -by
	}
	return by
}

// clockPath is the file that moves the clock of a server's process.
func (t *run) clockPath(number int) string {
	return filepath.Join(t.Folder, "clock-"+strconv.Itoa(number))
}

// withClock returns the environment of a server whose clock can be moved.
func (t *run) withClock(number int) []string {
	if !slices.ContainsFunc(t.faults, isClock) {
		return t.Env
	}
	if t.members == nil {
		number = 0 // of one machine
	}
	return append(slices.Clone(t.Env), stores.ClockVariable+"="+t.clockPath(number))
}

// setClock moves a clock to so much ahead of the machine's.
func setClock(path string, ahead time.Duration) error {
	next := path + ".next" // a reader never sees half of it
	if err := os.WriteFile(next, []byte(ahead.String()), 0o600); err != nil {
		return err
	}
	return os.Rename(next, path)
}

// jumpAll lets the clock of an engine jump and return. Every server must say that it did.
func (t *run) jumpAll(random *rand.Rand, set func(ahead time.Duration) error) (gone time.Time) {
	w, by := t.witness(random), jump(random)
	before := t.logSizes()
	t.must(set(by))
	for i, s := range t.servers {
		t.must(w.await(func() bool { return s.saysSince(before[i], "the clock of the store was set") },
			fmt.Sprintf("server %d says that the clock has jumped by %v", s.number, by)))
	}
	w.check(by, fmt.Sprintf("with the clock %v ahead", by))
	t.must(set(0))
	return time.Now()
}

// logSizes returns how long the logs of the servers are.
func (t *run) logSizes() []int64 {
	sizes := make([]int64, len(t.servers))
	for i, s := range t.servers {
		info, err := os.Stat(s.logPath)
		t.must(err)
		sizes[i] = info.Size()
	}
	return sizes
}

// saysSince reports whether the log, from an offset on, has a word.
func (s *server) saysSince(offset int64, word string) bool {
	log, err := os.ReadFile(s.logPath)
	return err == nil && bytes.Contains(log[min(offset, int64(len(log))):], []byte(word))
}

// witnesses are an owned name and a held one, which no fault may give away.
type witnesses struct {
	t           *run
	namespace   string
	owned, held string
	owner       dibs.Entity
	hold        dibs.Hold
}

const witnessTTL = 10 * time.Minute

// witness makes witnesses.
func (t *run) witness(random *rand.Rand) witnesses {
	number := strconv.FormatUint(random.Uint64(), 36)
	w := witnesses{t: t, namespace: t.scope + ".witness.plain", owned: "owned-" + number, held: "held-" + number}
	w.owner = dibs.Entity{Type: "user", ID: number}
	t.must(w.try(mostStarting, func(ctx context.Context, r *dibs.Registry) error {
		_, err := r.Claim(ctx, dibs.Claim{Namespace: w.namespace, Value: w.owned, Entity: w.owner})
		return err
	}))
	t.must(w.try(mostStarting, func(ctx context.Context, r *dibs.Registry) (err error) {
		w.hold, err = r.Reserve(ctx, dibs.Reserve{Namespace: w.namespace, Value: w.held, TTL: dibs.For(witnessTTL), Token: "the-token-of-a-witness-" + number})
		return err
	}))
	return w
}

// check notes a violation if a name was given away that is owned, or that is held by a clock which
// is so much ahead.
func (w witnesses) check(ahead time.Duration, when string) {
	wrong := func(what string) { w.t.found(Violation{Kind: "witness", What: when + ", " + what}) }
	if w.take(w.owned) == nil {
		wrong("an owned name is given away")
	}
	if owner, err := w.ownerOf(w.owned); err == nil && owner != w.owner {
		wrong(fmt.Sprintf("the owned name leads to %q", owner))
	}
	if w.take(w.held) != nil {
		return
	}
	if ahead < witnessTTL/2 {
		wrong("a held name is given away")
	}
	// The hold is over, and another one has begun: the first one must not be confirmed.
	if w.try(2*patience, func(ctx context.Context, r *dibs.Registry) error {
		_, err := r.Confirm(ctx, dibs.Confirm{ID: w.hold.ID, Token: w.hold.Token, Entity: dibs.Entity{Type: "user", ID: "late"}})
		return err
	}) == nil {
		wrong("a hold that had ended is confirmed")
	}
}

// ownerOf resolves a name.
func (w witnesses) ownerOf(value string) (owner dibs.Entity, err error) {
	err = w.try(2*patience, func(ctx context.Context, r *dibs.Registry) error {
		found, err := r.Resolve(ctx, w.namespace, value)
		owner = found.Entity
		return err
	})
	return owner, err
}

// take tries to reserve a name.
func (w witnesses) take(value string) error {
	token := fmt.Sprintf("another-caller-%d", rand.Uint64())
	return w.try(2*patience, func(ctx context.Context, r *dibs.Registry) error {
		_, err := r.Reserve(ctx, dibs.Reserve{Namespace: w.namespace, Value: value, TTL: dibs.For(time.Minute), Token: token})
		return err
	})
}

// try asks one server after the other until there is an answer.
func (w witnesses) try(most time.Duration, do func(context.Context, *dibs.Registry) error) (err error) {
	for n, deadline := 0, time.Now().Add(most); time.Now().Before(deadline); n++ {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		err = do(ctx, w.t.servers[n%len(w.t.servers)].registry)
		cancel()
		if !errors.Is(err, dibs.ErrUnavailable) && !errors.Is(err, dibs.ErrOutcomeUnknown) {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}

// await waits for a condition, and meanwhile lets every server read.
func (w witnesses) await(is func() bool, what string) error {
	for deadline := time.Now().Add(mostStarting); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if is() {
			return nil
		}
		for _, s := range w.t.servers {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			_, _ = s.registry.Get(ctx, dibs.Lookup{Namespace: w.namespace, Value: w.owned}) // it may be unavailable
			cancel()
		}
	}
	return fmt.Errorf("not within %v: %s", mostStarting, what)
}
