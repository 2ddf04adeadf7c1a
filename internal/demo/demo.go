// Package demo shows the life of a name with a real engine, a real race and a real crash.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/embedded"
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
