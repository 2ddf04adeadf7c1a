package dibs_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/embedded"
	"github.com/calldibs/dibs/memstore"
)

// open returns a registry in memory. A program would open sqlitestore here, or dial a
// server: TestExamplesRemote runs the examples on one.
func open(cfg dibs.Config) *dibs.Registry {
	if os.Getenv(examplesRemote) != "" {
		return overHTTP(cfg)
	}
	return openHere(cfg)
}

// openHere is open for what takes the registry itself: several principals, policies
// that change.
func openHere(cfg dibs.Config) *dibs.Registry {
	reg, err := embedded.Open(memstore.New(memstore.Config{}), cfg)
	if err != nil {
		log.Fatal(err)
	}
	return reg
}

var wedding = dibs.Entity{Type: "wedding", ID: "42"}

// check ends an example that went wrong.
func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// A name from the first click to the confirmed order.
func Example() {
	ctx := context.Background()
	reg := open(dibs.Config{})
	defer reg.Close()

	hold, err := reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "alice-bob"})
	check(err)
	fmt.Println(hold.Key(), "is", hold.State)

	// Somebody else is a moment later.
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

func ExampleOpen() {
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

	_, err = reg.Reserve(context.Background(), dibs.Reserve{Namespace: "slug", Value: "admin"})
	fmt.Println(err)
	// Output:
	// dibs: RESERVED_WORD: "admin" is a reserved word here
}
