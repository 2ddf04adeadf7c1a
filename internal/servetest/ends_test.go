package servetest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/pgtest"
)

// TestHoldWhoseConfirmationWaits confirms a hold in time through one server, while the
// database waits for a missing standby until the hold's end has passed. The other server
// must not answer that the hold is over: the first one confirms it later.
func TestHoldWhoseConfirmationWaits(t *testing.T) {
	t.Parallel()
	notRaced(t)
	cluster := pgtest.Start(t, pgtest.Options{})
	regs := newTwoServers(t, newSchema(t, cluster)).registries()
	var err error
	for _, ttl := range []time.Duration{1500 * time.Millisecond, 5 * time.Second, 10 * time.Second} {
		if err = confirmLate(t, cluster, regs[0], regs[1], ttl); err == nil {
			return
		}
		t.Logf("a hold of %v is too short for this machine: %v", ttl, err)
	}
	t.Errorf("the confirmation that was in time: %v", err)
}

// confirmLate reserves a name through a, confirms it while commits wait, and asks b after the hold's end. It returns the error of the
// confirmation.
func confirmLate(t *testing.T, cluster *pgtest.Cluster, a, b *dibs.Registry, ttl time.Duration) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	value, entity := "late-"+ttl.String(), dibs.Entity{Type: "user", ID: ttl.String()}
	hold, err := a.Reserve(ctx, dibs.Reserve{Namespace: "h.plain", Value: value, TTL: dibs.For(ttl)})
	if err != nil {
		t.Fatal(err)
	}
	type said struct {
		what string
		err  error
	}
	const questions = 4
	answers := make(chan said, questions)
	var early []said
	confirmed := make(chan error, 1)
	cluster.WithoutStandby(t, func() {
		go func() {
			_, err := a.Confirm(ctx, dibs.Confirm{ID: hold.ID, Token: hold.Token, Entity: entity})
			confirmed <- err
		}()
		await(t, "the confirmation waits for the standby, or came too late", func() bool { return cluster.Waiting(t) > 0 || len(confirmed) > 0 })
		await(t, "the end of the hold is past", func() bool { return time.Now().After(hold.ExpiresAt.Add(200 * time.Millisecond)) })
		for what, ask := range map[string]func() error{
			"get": func() error {
				name, err := b.Get(ctx, dibs.Lookup{ID: hold.ID})
				return wrong(err, name.State != dibs.Active)
			},
			"check": func() error {
				found, err := b.Check(ctx, dibs.CheckRequest{Namespace: "h.plain", Values: []string{value}})
				return wrong(err, len(found) != 1 || found[0].Available)
			},
			"resolve": func() error {
				r, err := b.Resolve(ctx, "h.plain", value)
				return wrong(err, r.Outcome != dibs.ResolveActive)
			},
			"extend": func() error {
				_, err := b.Extend(ctx, dibs.Extend{ID: hold.ID, Token: hold.Token, TTL: dibs.For(time.Second)})
				if errors.Is(err, dibs.ErrAlreadyConfirmed) {
					return nil
				}
				return wrong(err, true)
			},
		} {
			go func() { answers <- said{what, ask()} }()
		}
		select {
		case first := <-answers:
			early = append(early, first)
		case <-time.After(300 * time.Millisecond):
		}
	})
	if err := <-confirmed; err != nil {
		return err
	}
	for _, first := range early {
		t.Errorf("%s is answered before the outcome is known: %v", first.what, first.err)
	}
	for range questions - len(early) {
		if got := <-answers; got.err != nil {
			t.Errorf("%s through the other server: %v", got.what, got.err)
		}
	}
	return nil
}

var errWrong = errors.New("the answer contradicts the confirmation")

func wrong(err error, is bool) error {
	if err == nil && is {
		return errWrong
	}
	return err
}
