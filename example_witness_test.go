package dibs_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/calldibs/dibs/embedded"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/memstore"
)

// A process dies after it saved the wedding and before it confirmed the name. The
// witness looks the wedding up, and the name is not freed while it is in use.
func ExampleWitness() {
	ctx := context.Background()
	saved := map[string]bool{"42": true} // the table of weddings

	var clock atomic.Int64 // lets the example jump ahead
	store := memstore.New(memstore.Config{Now: func() time.Time { return time.UnixMilli(clock.Add(1)) }})
	reg, err := embedded.Open(store, dibs.Config{Policies: map[string]dibs.Policy{
		"slug": {Witness: func(_ context.Context, hold dibs.SuspectHold) (dibs.Verdict, error) {
			if saved[hold.Entity.ID] {
				return dibs.Exists(hold.Entity), nil
			}
			return dibs.Absent, nil
		}},
	}})
	check(err)
	defer reg.Close()

	for value, id := range map[string]string{"alice-bob": "42", "carol-dave": "43"} {
		_, err := reg.Reserve(ctx, dibs.Reserve{
			Namespace: "slug", Value: value, Entity: dibs.Entity{Type: "wedding", ID: id},
		})
		check(err)
	}
	clock.Add(hour.Milliseconds()) // nobody confirms
	_, err = reg.Sweep(ctx, 100)
	check(err)
	show(reg, "alice-bob", "carol-dave")
	// Output:
	// alice-bob 200
	// carol-dave 404
}

func ExampleRegistry_Sweep() {
	ctx := context.Background()
	var clock atomic.Int64
	store := memstore.New(memstore.Config{Now: func() time.Time { return time.UnixMilli(clock.Add(1)) }})
	reg, err := embedded.Open(store, dibs.Config{})
	check(err)
	defer reg.Close()
	_, err = reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "alice-bob"})
	check(err)

	clock.Add(hour.Milliseconds())
	report, err := reg.Sweep(ctx, 100)
	check(err)
	fmt.Println(report.Changed)
	// Output: 1
}

func ExampleRegistry_Settle() {
	ctx := context.Background()
	var clock atomic.Int64
	store := memstore.New(memstore.Config{Now: func() time.Time { return time.UnixMilli(clock.Add(1)) }})
	reg, err := embedded.Open(store, dibs.Config{Policies: map[string]dibs.Policy{
		"slug": {Witness: func(context.Context, dibs.SuspectHold) (dibs.Verdict, error) { return dibs.Unknown, nil }},
	}})
	check(err)
	defer reg.Close()
	hold, err := reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "alice-bob"})
	check(err)
	clock.Add(hour.Milliseconds())

	// The witness cannot tell. An operator has looked, and can.
	name, err := reg.Settle(ctx, dibs.Settle{ID: hold.ID, Verdict: dibs.Exists(wedding)})
	check(err)
	fmt.Println(name.State, name.Entity)
	// Output: active wedding/42
}
