package torture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/calldibs/dibs"
)

// witnesses are an owned name and a held one, which no fault may give away.
type witnesses struct {
	t           *run
	namespace   string
	owned, held string
	owner       dibs.Entity
	hold        dibs.Hold
	most        time.Duration // how long an answer may take
}

const witnessTTL = 10 * time.Minute

// witness makes witnesses.
func (t *run) witness(random *rand.Rand) witnesses {
	number := strconv.FormatUint(random.Uint64(), 36)
	w := witnesses{t: t, namespace: t.scope + ".witness.plain", owned: "owned-" + number, held: "held-" + number, most: mostStarting}
	w.owner = dibs.Entity{Type: "user", ID: number}
	t.must(w.try(w.most, func(ctx context.Context, r *dibs.Registry) error {
		_, err := r.Claim(ctx, dibs.Claim{Namespace: w.namespace, Value: w.owned, Entity: w.owner})
		return err
	}))
	var err error
	w.hold, err = w.reserve(w.held, witnessTTL)
	t.must(err)
	return w
}

// reserve holds a name.
func (w witnesses) reserve(value string, ttl time.Duration) (hold dibs.Hold, err error) {
	command := dibs.Reserve{Namespace: w.namespace, Value: value, TTL: dibs.For(ttl), Token: "the-token-of-a-witness-" + value}
	err = w.try(w.most, func(ctx context.Context, r *dibs.Registry) (err error) {
		hold, err = r.Reserve(ctx, command)
		return err
	})
	return hold, err
}

// check notes a violation if a name was given away that is owned, or that is held by a clock which
// is so much ahead, and if no server says whether it was.
func (w witnesses) check(ahead time.Duration, when string) {
	w.checkOwned(w.most, false, when)
	w.checkHeld(ahead, w.most, false, when)
}

// checkRefused is check while servers may refuse to write.
func (w witnesses) checkRefused(ahead time.Duration, when string) {
	w.checkOwned(2*patience, true, when)
	w.checkHeld(ahead, 2*patience, true, when)
}

func (w witnesses) wrong(when, format string, args ...any) {
	w.t.found(Violation{Kind: "witness", What: when + ", " + fmt.Sprintf(format, args...)})
}

// isAnswer reports whether a caller knows what has happened.
func isAnswer(err error) bool {
	return !errors.Is(err, dibs.ErrUnavailable) && !errors.Is(err, dibs.ErrOutcomeUnknown) && !errors.Is(err, context.DeadlineExceeded)
}

func (w witnesses) checkOwned(most time.Duration, mayRefuse bool, when string) {
	switch err := w.take(w.owned, most); {
	case err == nil:
		w.wrong(when, "an owned name is given away")
	case errors.Is(err, dibs.ErrNameTaken), mayRefuse && !isAnswer(err):
	default:
		w.wrong(when, "another caller that wants the owned name is told: %v", err)
	}
	var found dibs.Resolution
	err := w.try(w.most, func(ctx context.Context, r *dibs.Registry) (err error) {
		found, err = r.Resolve(ctx, w.namespace, w.owned)
		return err
	})
	if err != nil || found.Entity != w.owner {
		w.wrong(when, "the owned name leads to %q, error %v", found.Entity, err)
	}
}

func (w witnesses) checkHeld(ahead, most time.Duration, mayRefuse bool, when string) {
	err := w.take(w.held, most)
	isLive := ahead < witnessTTL/2
	switch {
	case err == nil && isLive:
		w.wrong(when, "a held name is given away")
	case err == nil, errors.Is(err, dibs.ErrNameTaken), mayRefuse && !isAnswer(err):
	default:
		w.wrong(when, "another caller that wants the held name is told: %v", err)
	}
	if err == nil {
		w.mustNotConfirm(w.hold, most, when)
		return
	}
	if !isLive {
		return
	}
	var found dibs.Name
	err = w.try(w.most, func(ctx context.Context, r *dibs.Registry) (err error) {
		found, err = r.Get(ctx, dibs.Lookup{Namespace: w.namespace, Value: w.held})
		return err
	})
	if err != nil || found.State != dibs.Held || found.ID != w.hold.ID {
		w.wrong(when, "the held name is %s, with the reservation %s and not %s, error %v", found.State, found.ID, w.hold.ID, err)
	}
}

// mustNotConfirm notes a violation if a hold is confirmed that is over, while another one has begun.
func (w witnesses) mustNotConfirm(hold dibs.Hold, most time.Duration, when string) {
	if w.try(most, func(ctx context.Context, r *dibs.Registry) error {
		_, err := r.Confirm(ctx, dibs.Confirm{ID: hold.ID, Token: hold.Token, Entity: dibs.Entity{Type: "user", ID: "late"}})
		return err
	}) == nil {
		w.wrong(when, "a hold that had ended is confirmed")
	}
}

// take tries to reserve a name.
func (w witnesses) take(value string, most time.Duration) error {
	token := fmt.Sprintf("another-caller-%d", rand.Uint64())
	return w.try(most, func(ctx context.Context, r *dibs.Registry) error {
		_, err := r.Reserve(ctx, dibs.Reserve{Namespace: w.namespace, Value: value, TTL: dibs.For(time.Minute), Token: token})
		return err
	})
}

// try asks one server after the other until there is an answer.
func (w witnesses) try(most time.Duration, do func(context.Context, *dibs.Registry) error) (err error) {
	for n, deadline := 0, time.Now().Add(most); ; n++ {
		if err = w.ask(n, do); isAnswer(err) || time.Now().After(deadline) {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// ask asks one of the servers, once.
func (w witnesses) ask(n int, do func(context.Context, *dibs.Registry) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return do(ctx, w.t.servers[n%len(w.t.servers)].registry)
}

// read lets a server read a witness, which it may have lost.
func (w witnesses) read(server int) error {
	return w.ask(server, func(ctx context.Context, r *dibs.Registry) error {
		_, err := r.Get(ctx, dibs.Lookup{Namespace: w.namespace, Value: w.owned})
		return err
	})
}

// readEverywhere waits until every server has read.
func (w witnesses) readEverywhere() error {
	for i, s := range w.t.servers {
		if err := w.await(func() bool { return isAnswer(w.read(i)) }, fmt.Sprintf("server %d reads", s.number)); err != nil {
			return err
		}
	}
	return nil
}

// await waits for a condition, and meanwhile lets every server read.
func (w witnesses) await(is func() bool, what string) error {
	for deadline := time.Now().Add(mostStarting); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if is() {
			return nil
		}
		for i := range w.t.servers {
			_ = w.read(i) // it may be unavailable
		}
	}
	return fmt.Errorf("not within %v: %s", mostStarting, what)
}

// shortHold is a hold that ends while a clock is a little wrong.
type shortHold struct {
	witnesses
	dibs.Hold
}

const (
	shortTTL = 2 * time.Second
	// inexact is how far clocks of one machine differ: they are cut off at the millisecond, and that of PostgreSQL is moved by
	// a library.
	inexact = 20 * time.Millisecond
)

// holdShortly begins a short hold.
func (w witnesses) holdShortly(ttl time.Duration) shortHold {
	hold, err := w.reserve("short-"+w.owner.ID, ttl)
	w.t.must(err)
	return shortHold{w, hold}
}

// check notes a violation if another caller gets the name too early or too late, while all clocks are between that of this machine
// and one that is so much ahead. An answer that is slow is no violation: one that gives the name away counts when it comes,
// and a refusal counts when it was asked for.
func (h shortHold) check(ahead time.Duration, when string) {
	earliest, latest := h.ExpiresAt.Add(-max(ahead, 0)-inexact), h.ExpiresAt.Add(max(-ahead, 0)+inexact)
	command := dibs.Reserve{Namespace: h.namespace, Value: h.Value, TTL: dibs.For(witnessTTL), Token: "another-caller-of-" + h.Value}
	deadline := latest.Add(h.most)
	for n := 0; ; n++ {
		asked := time.Now()
		err := h.ask(n, func(ctx context.Context, r *dibs.Registry) error {
			_, err := r.Reserve(ctx, command)
			return err
		})
		switch answered := time.Now(); {
		case err == nil && answered.Before(earliest):
			h.wrong(when, "a held name is given away %v before the end of its hold", h.ExpiresAt.Sub(answered))
			return
		case err == nil:
			h.mustNotConfirm(h.Hold, h.most, when)
			return
		case errors.Is(err, dibs.ErrNameTaken) && asked.After(latest):
			h.wrong(when, "a name is held %v after the end of its hold", asked.Sub(h.ExpiresAt))
			return
		case errors.Is(err, dibs.ErrNameTaken): // the hold may live
		case answered.After(deadline):
			h.wrong(when, "another caller that wants a name after the end of its hold is told: %v", err)
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}
