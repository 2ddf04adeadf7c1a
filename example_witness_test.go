package dibs_test

import (
	"context"
	"fmt"

	"github.com/calldibs/dibs"
)

// A process fails after it saved a wedding and before it confirmed the name. The witness looks
// the wedding up, so the name is not freed.
func ExampleWitness() {
	saved := map[string]bool{"42": true} // the table of weddings

	reg, advance := openWithClock(dibs.Config{Policies: map[string]dibs.Policy{
		"slug": {Witness: func(_ context.Context, hold dibs.SuspectHold) (dibs.Verdict, error) {
			if saved[hold.Entity.ID] {
				return dibs.Exists(hold.Entity), nil
			}
			return dibs.Absent, nil
		}},
	}})
	defer reg.Close()

	for value, id := range map[string]string{"alice-bob": "42", "carol-dave": "43"} {
		_, err := reg.Reserve(ctx, dibs.Reserve{
			Namespace: "slug", Value: value, Entity: dibs.Entity{Type: "wedding", ID: id},
		})
		check(err)
	}
	advance(hour) // the names are not confirmed
	_, err := reg.Sweep(ctx, 100)
	check(err)
	show(reg, "alice-bob", "carol-dave")
	// Output:
	// alice-bob 200
	// carol-dave 404
}

func ExampleRegistry_Sweep() {
	reg, advance := openWithClock(dibs.Config{})
	defer reg.Close()
	_, err := reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "alice-bob"})
	check(err)

	advance(hour)
	report, err := reg.Sweep(ctx, 100)
	check(err)
	fmt.Println(report.Changed)
	// Output: 1
}

func ExampleRegistry_Settle() {
	reg, advance := openWithClock(dibs.Config{Policies: map[string]dibs.Policy{
		"slug": {Witness: func(context.Context, dibs.SuspectHold) (dibs.Verdict, error) { return dibs.Unknown, nil }},
	}})
	defer reg.Close()
	hold, err := reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "alice-bob"})
	check(err)
	advance(hour)

	// The witness cannot tell. An operator has looked, and decides.
	name, err := reg.Settle(ctx, dibs.Settle{ID: hold.ID, Verdict: dibs.Exists(wedding)})
	check(err)
	fmt.Println(name.State, name.Entity)
	// Output: active wedding/42
}
