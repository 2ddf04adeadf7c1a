// Package demo shows the life of a name with a real engine, a real race and a real crash.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/embedded"
	"github.com/calldibs/dibs/internal/backoff"
	"github.com/calldibs/dibs/sqlitestore"
)

// The namespace of the demo, and the duration of holds that it lets expire.
const (
	namespace = "slug"
	shortHold = 300 * time.Millisecond
)

// story is the registry and the output of the demo.
type story struct {
	*dibs.Registry
	out    io.Writer
	folder string
}

// Run runs the demo on a temporary SQLite file and writes to out. Customer is the command line
// that runs [Customer] in a second process; Run appends the folder.
func Run(ctx context.Context, out io.Writer, customer []string) (err error) {
	folder, err := os.MkdirTemp("", "dibs-demo-")
	if err != nil {
		return fmt.Errorf("the demo needs a temporary folder: %w", err)
	}
	defer os.RemoveAll(folder)
	reg, err := openRegistry(ctx, folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reg.Close()) }()

	start := time.Now()
	s := &story{Registry: reg, out: out, folder: folder}
	s.say("Dibs on a temporary SQLite file, %s.", databasePath(folder))
	winner, err := s.race(ctx)
	if err != nil {
		return err
	}
	for _, chapter := range []func(context.Context) error{
		func(ctx context.Context) error { return s.payment(ctx, winner) },
		s.staleToken,
		s.rename,
		func(ctx context.Context) error { return s.crash(ctx, customer) },
		s.history,
	} {
		if err := chapter(ctx); err != nil {
			return err
		}
	}
	s.say("\nDone in %v. Next: README.md, for the same in your own program.", time.Since(start).Round(time.Millisecond))
	return nil
}

func openRegistry(ctx context.Context, folder string) (*dibs.Registry, error) {
	store, err := sqlitestore.Open(ctx, databasePath(folder), sqlitestore.Config{})
	if err != nil {
		return nil, err
	}
	return embedded.Open(store, dibs.Config{Policies: map[string]dibs.Policy{
		namespace: {MinTTL: time.Millisecond, Witness: lookForWedding(folder)},
		"coupon":  {MinTTL: time.Millisecond},
	}, SweepEvery: -1}) // the story sweeps when it says so
}

func (s *story) say(format string, args ...any)     { fmt.Fprintf(s.out, format+"\n", args...) }
func (s *story) chapter(title string)               { s.say("\n%s", title) }
func (s *story) tell(format string, args ...any)    { s.say("   "+format, args...) }
func (s *story) request(format string, args ...any) { s.say(" → "+format, args...) }

const customers = 100

// race lets a hundred customers reserve the same name at once.
func (s *story) race(ctx context.Context) (dibs.Hold, error) {
	s.chapter("1. A hundred customers want alice-bob, all at once")
	var (
		mu      sync.Mutex
		racers  sync.WaitGroup
		start   = make(chan struct{})
		winners []dibs.Hold
		refused []*dibs.Error
		failed  error
	)
	for range customers {
		racers.Go(func() {
			<-start
			hold, err := s.Reserve(ctx, dibs.Reserve{Namespace: namespace, Value: "alice-bob"})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				winners = append(winners, hold)
			} else if taken, ok := errors.AsType[*dibs.Error](err); ok && errors.Is(err, dibs.ErrNameTaken) {
				refused = append(refused, taken)
			} else {
				failed = err
			}
		})
	}
	began := time.Now()
	close(start)
	racers.Wait()
	if failed != nil {
		return dibs.Hold{}, failed
	}
	if len(winners) != 1 || len(refused) != customers-1 {
		return dibs.Hold{}, fmt.Errorf("%d winners and %d refusals: this must never happen, please report it", len(winners), len(refused))
	}
	s.tell("%d winner, %d refusals, in %v.", len(winners), len(refused), time.Since(began).Round(100*time.Microsecond))
	s.tell("The winner holds %s until %s.", winners[0].Key(), winners[0].ExpiresAt.Format(time.TimeOnly))
	s.tell("The others are told: %s", refused[0].Message)
	s.tell("… and what is free:  %v", refused[0].Suggestions)
	return winners[0], nil
}

// payment confirms the winner's hold.
func (s *story) payment(ctx context.Context, hold dibs.Hold) error {
	s.chapter("2. The winner pays, and the name is confirmed")
	wedding := dibs.Entity{Type: "wedding", ID: "42"}
	name, err := s.Confirm(ctx, dibs.Confirm{ID: hold.ID, Token: hold.Token, Entity: wedding})
	if err != nil {
		return err
	}
	s.tell("%s is %s and belongs to %s.", name.Key(), name.State, name.Entity)
	// The answer was lost, so the shop repeats the request.
	results, err := s.Apply(ctx, dibs.Confirm{ID: hold.ID, Token: hold.Token, Entity: wedding})
	if err != nil {
		return err
	}
	s.tell("Repeating the request after a lost answer is safe: replayed %v.", results[0].Replayed)
	return nil
}

// staleToken lets a holder confirm after another customer reserved the name.
func (s *story) staleToken(ctx context.Context) error {
	s.chapter("3. A customer falls asleep; the token is stale")
	asleep, err := s.Reserve(ctx, dibs.Reserve{Namespace: "coupon", Value: "SPRING", TTL: dibs.For(shortHold)})
	if err != nil {
		return err
	}
	s.tell("A hold of %v on %s, epoch %d. It is not confirmed.", shortHold, asleep.Key(), asleep.Epoch)
	awake, err := s.reserveWhenFree(ctx, "coupon", "SPRING")
	if err != nil {
		return err
	}
	s.tell("It expires, and another customer reserves it: epoch %d.", awake.Epoch)
	_, err = s.Confirm(ctx, dibs.Confirm{ID: asleep.ID, Token: asleep.Token, Entity: dibs.Entity{Type: "order", ID: "1"}})
	if !errors.Is(err, dibs.ErrLost) {
		return fmt.Errorf("a stale token was answered with %w, it must be refused", err)
	}
	s.tell("The sleeper wakes up and confirms: %v", err)
	return nil
}

// reserveWhenFree reserves a name as soon as the hold on it is over.
func (s *story) reserveWhenFree(ctx context.Context, namespace, value string) (dibs.Hold, error) {
	for {
		hold, err := s.Reserve(ctx, dibs.Reserve{Namespace: namespace, Value: value})
		taken, ok := errors.AsType[*dibs.Error](err)
		if !ok || taken.Code != dibs.CodeNameTaken {
			return hold, err
		}
		if err := backoff.Sleep(ctx, time.Until(taken.Until)); err != nil {
			return dibs.Hold{}, err
		}
	}
}

// rename gives the wedding another name and follows the old link.
func (s *story) rename(ctx context.Context) error {
	s.chapter("4. The couple renames; printed invitations still work")
	_, err := s.Rename(ctx, dibs.Rename{Namespace: namespace, Entity: dibs.Entity{Type: "wedding", ID: "42"}, Value: "the-millers"})
	if err != nil {
		return err
	}
	for _, value := range []string{"the-millers", "alice-bob", "nobody"} {
		r, err := s.Resolve(ctx, namespace, value)
		if err != nil {
			return err
		}
		switch r.Outcome {
		case dibs.ResolveActive:
			s.request("/%-12s %d  %s", value, r.Status, r.Entity)
		case dibs.ResolveMoved:
			s.request("/%-12s %d  Location: /%s", value, r.Status, r.To.Canonical)
		case dibs.ResolveGone, dibs.ResolveNotFound:
			s.request("/%-12s %d", value, r.Status)
		}
	}
	return nil
}

// history shows the events of a name.
func (s *story) history(ctx context.Context) error {
	s.chapter("6. And who had alice-bob?")
	events, err := s.History(ctx, namespace, "alice-bob")
	if err != nil {
		return err
	}
	for _, e := range events {
		s.tell("%s  %-9s  %s → %s  %s", e.At.Time().Format("15:04:05.000"), e.Kind, e.Before.State, e.After.State, ownerOf(e))
	}
	buckets, err := s.Conflicts(ctx, dibs.ConflictsQuery{Namespace: namespace})
	if err != nil {
		return err
	}
	for _, b := range buckets {
		s.tell("%d refused because it was %s.", b.Count, b.Reason)
	}
	return nil
}

func ownerOf(e dibs.Event) string {
	if e.Entity.IsZero() {
		return ""
	}
	return e.Entity.String()
}
