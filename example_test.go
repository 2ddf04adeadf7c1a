package dibs_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"sync/atomic"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/embedded"
	"github.com/calldibs/dibs/memstore"
)

// open returns a registry in memory. A program would use package sqlitestore or pgstore, or
// dial a server: TestExamplesRemote runs the examples on one.
func open(cfg dibs.Config) *dibs.Registry {
	if os.Getenv(examplesRemote) != "" {
		return overHTTP(cfg)
	}
	return openHere(cfg)
}

// openHere is open for examples that need an embedded registry.
func openHere(cfg dibs.Config) *dibs.Registry { return openOn(memstore.Config{}, cfg) }

// openWithClock returns a registry whose clock advance moves forward.
func openWithClock(cfg dibs.Config) (reg *dibs.Registry, advance func(time.Duration)) {
	var clock atomic.Int64 // in milliseconds
	reg = openOn(memstore.Config{Now: func() time.Time { return time.UnixMilli(clock.Add(1)) }}, cfg)
	return reg, func(d time.Duration) { clock.Add(d.Milliseconds()) }
}

func openOn(engine memstore.Config, cfg dibs.Config) *dibs.Registry {
	reg, err := embedded.Open(memstore.New(engine), cfg)
	check(err)
	return reg
}

// ctx is the context of all examples. A program passes that of its request.
var ctx = context.Background()

var wedding = dibs.Entity{Type: "wedding", ID: "42"}

// check stops an example that fails.
func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// A name from its reservation to the confirmed order.
func Example() {
	reg := open(dibs.Config{})
	defer reg.Close()

	hold, err := reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "alice-bob"})
	check(err)
	fmt.Println(hold.Key(), "is", hold.State)

	// Another caller wants the same name a moment later.
	_, err = reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "alice-bob"})
	if taken, ok := errors.AsType[*dibs.Error](err); ok {
		fmt.Println(taken.Code, taken.Reason, taken.Suggestions)
	}

	// The payment went through.
	name, err := reg.Confirm(ctx, dibs.Confirm{
		ID: hold.ID, Token: hold.Token, Entity: dibs.Entity{Type: "wedding", ID: "42"},
	})
	check(err)
	fmt.Println(name.Key(), "is", name.State, "and belongs to", name.Entity)
	// Output:
	// slug:alice-bob is held
	// NAME_TAKEN held [alice-bob-2 alice-bob-3 alice-bob-4]
	// slug:alice-bob is active and belongs to wedding/42
}

func ExampleConfig() {
	reg, err := embedded.Open(memstore.New(memstore.Config{}), dibs.Config{
		Policies: map[string]dibs.Policy{
			"slug":       {Quarantine: 90 * 24 * hour, ReservedWords: dibs.WordList("admin", "www")},
			"email":      {ManyPerEntity: true},
			"acme.slug":  {MaxHolds: 3},
			"username":   {AliasRetention: 365 * 24 * hour},
			"promo-code": {DefaultTTL: hour},
		},
		SweepEvery: 10 * time.Minute,
	})
	check(err)
	defer reg.Close()

	_, err = reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "admin"})
	fmt.Println(err)
	// Output:
	// dibs: RESERVED_WORD: "admin" is a reserved word here
}

// A test of how a program handles an engine that is down.
func ExampleFailingBackend() {
	reg := dibs.NewRegistry(dibs.FailingBackend(dibs.Unavailable(errors.New("connection refused"))))
	defer reg.Close()

	_, err := reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "alice-bob"})
	fmt.Println(errors.Is(err, dibs.ErrUnavailable))
	fmt.Println(err)
	// Output:
	// true
	// dibs: UNAVAILABLE: nothing happened; try again later: connection refused
}
