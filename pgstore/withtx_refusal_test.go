package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/internal/pgtest"
	"github.com/calldibs/dibs/pgstore"
)

// After a refused command the transaction is usable, at every isolation level.
func TestARefusalLeavesTheTransactionUsable(t *testing.T) {
	cfg := dibs.Config{Default: dibs.Policy{ReservedWords: dibs.WordList("admin"), MaxHolds: 2, Quarantine: time.Hour}}
	bothWays(t, cfg, func(t *testing.T, s *shop) {
		ctx := t.Context()
		taken := must[dibs.Hold](t)(s.reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "taken"}))
		must[dibs.Name](t)(s.reg.Claim(ctx, claim("given-up", numbered(2))))
		must[dibs.Result](t)(s.reg.Delete(ctx, dibs.Delete{Entity: numbered(2)}))
		refusals := []struct {
			command dibs.Command
			want    error
		}{
			{claim("taken", product), dibs.ErrNameTaken},
			{claim("given-up", product), dibs.ErrNameTaken},
			{claim("admin", product), dibs.ErrReservedWord},
			{claim("", product), dibs.ErrInvalidValue},
			{claim("\x00", product), dibs.ErrInvalidValue},
			{claim("free", numbered(1)), dibs.ErrEntityHasName},
			{dibs.Claim{Namespace: "No!", Value: "free", Entity: product}, dibs.ErrInvalidNamespace},
			{dibs.Confirm{ID: taken.ID, Token: "somebody-elses-token", Entity: product}, dibs.ErrLost},
			{dibs.Confirm{ID: dibs.NameID("slug", "nobodys"), Token: taken.Token, Entity: product}, dibs.ErrNotFound},
			{dibs.Confirm{ID: taken.ID, Token: taken.Token, Entity: numbered(1)}, dibs.ErrEntityHasName},
			{dibs.Extend{ID: taken.ID, Token: taken.Token, TTL: dibs.For(-1)}, dibs.ErrInvalidTTL},
			{dibs.Rename{Namespace: "slug", Entity: numbered(1), Value: "free", IfVersion: 77}, dibs.ErrVersionMismatch},
			{dibs.Decommission{Namespace: "slug", Value: "first", Entity: product}, dibs.ErrNotOwner},
			{dibs.Archive{Entity: numbered(404)}, dibs.ErrEntityNotFound},
			{dibs.ReserveAll{Reservations: []dibs.Reserve{{Namespace: "slug", Value: "free"}, {Namespace: "slug", Value: "taken"}}}, dibs.ErrNameTaken},
			{dibs.ReserveAll{Reservations: []dibs.Reserve{{Namespace: "slug", Value: "a"}, {Namespace: "slug", Value: "b"}}}, dibs.ErrTooManyHolds},
		}
		for _, level := range levels {
			tx, bound := s.tx(t, level)
			for _, r := range refusals {
				if _, err := bound.Apply(ctx, r.command); !errors.Is(err, r.want) {
					t.Errorf("%s: %+v: %v, want %v", level, r.command, err, r.want)
				}
				// A list with a command that would succeed changes nothing.
				if _, err := bound.Apply(ctx, claim("free", product), r.command); err == nil {
					t.Errorf("%s: a list with %+v is not refused", level, r.command)
				}
			}
			s.insert(t, tx, level)
			s.commit(t, tx)
			if s.rows(t, level) != 1 || coretest.StateOf(t, s.reg, "free") != dibs.Free {
				t.Errorf("%s: %d rows, the name is %s", level, s.rows(t, level), coretest.StateOf(t, s.reg, "free"))
			}
		}
	})
}

func TestASuggestionCanBeTakenInTheSameTransaction(t *testing.T) {
	bothWays(t, dibs.Config{}, func(t *testing.T, s *shop) {
		tx, bound := s.tx(t, "")
		_, err := bound.Claim(t.Context(), claim("first", product))
		refused, ok := errors.AsType[*dibs.Error](err)
		if !ok || refused.Code != dibs.CodeNameTaken || len(refused.Suggestions) == 0 {
			t.Fatalf("got %v", err)
		}
		must[dibs.Name](t)(bound.Claim(t.Context(), claim(refused.Suggestions[0], product)))
		s.commit(t, tx)
		if got := coretest.StateOf(t, s.reg, refused.Suggestions[0]); got != dibs.Active {
			t.Errorf("the second choice is %s", got)
		}
	})
}

// A hold that ends in the middle of a command is confirmed or expired, by one read of the clock when
// all locks are held. The clock here moves with every read, so that a hold ends at each point.
func TestAHoldThatEndsDuringACommand(t *testing.T) {
	t.Parallel()
	schema := pgtest.Shared(t).NewSchema(t)
	conn := must[*pgx.Conn](t)(pgx.Connect(t.Context(), pgtest.Shared(t).DSN("postgres")))
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	if _, err := conn.Exec(t.Context(), fmt.Sprintf("CREATE SCHEMA %s; CREATE SEQUENCE %[1]s.clock START 1000000", schema)); err != nil {
		t.Fatal(err)
	}
	s := openShop(t, pgstore.Config{Schema: schema, ClockSQL: "nextval('" + schema + ".clock')"},
		dibs.Config{Default: dibs.Policy{MinTTL: time.Millisecond}})
	var confirmed, expired int
	for ms := 2; ms < 12; ms++ {
		tx, bound := s.tx(t, "")
		hold := must[dibs.Hold](t)(bound.Reserve(t.Context(), dibs.Reserve{
			Namespace: "slug", Value: fmt.Sprint("short-", ms), TTL: dibs.For(time.Duration(ms) * time.Millisecond),
		}))
		_, err := bound.Confirm(t.Context(), dibs.Confirm{ID: hold.ID, Token: hold.Token, Entity: numbered(200 + ms)})
		switch {
		case err == nil:
			confirmed++
		case errors.Is(err, dibs.ErrAlreadyExpired):
			expired++
		default:
			t.Errorf("a hold of %d ms: %v", ms, err)
		}
		s.insert(t, tx, fmt.Sprint(ms))
		s.commit(t, tx)
	}
	if confirmed == 0 || expired == 0 {
		t.Errorf("%d confirmed, %d expired", confirmed, expired)
	}
}

// endingContext ends after its Err was called a number of times.
type endingContext struct {
	context.Context
	left atomic.Int64
}

func endsAfter(ctx context.Context, checks int64) *endingContext {
	c := &endingContext{Context: ctx}
	c.left.Store(checks)
	return c
}

func (c *endingContext) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return c.Context.Err()
}

// A context that ends between two statements interrupts the command, which leaves no change in the
// transaction. The caller may commit that.
func TestAContextThatEndsBetweenStatements(t *testing.T) {
	bothWays(t, dibs.Config{Default: dibs.Policy{MaxHolds: 100}}, func(t *testing.T, s *shop) {
		done := false
		for checks := int64(0); !done && checks < 50; checks++ {
			value := fmt.Sprint("name-", checks)
			tx, bound := s.tx(t, "")
			_, err := bound.Apply(endsAfter(t.Context(), checks),
				dibs.Reserve{Namespace: "fresh-" + value, Value: value},
				claim(value, numbered(300+int(checks))))
			if done = err == nil; !done && !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled at check %d: %v", checks, err)
			}
			s.insert(t, tx, value)
			s.commit(t, tx)
			if taken := coretest.StateOf(t, s.reg, value) == dibs.Active; taken != done {
				t.Errorf("cancelled at check %d: done %v, and the name is %s", checks, done, coretest.StateOf(t, s.reg, value))
			}
		}
		if !done {
			t.Error("the command was never done")
		}
	})
}
