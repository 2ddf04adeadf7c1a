package dibs_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/calldibs/dibs"
)

const hour = time.Hour

func ExampleRegistry_Reserve() {
	reg := open(dibs.Config{})
	defer reg.Close()

	// A caller that chooses the token can retry when an answer was lost: it gets the same
	// hold.
	reserve := dibs.Reserve{Namespace: "slug", Value: "alice-bob", TTL: dibs.For(10 * time.Minute), Token: dibs.NewToken()}
	first, err := reg.Reserve(ctx, reserve)
	check(err)
	again, err := reg.Reserve(ctx, reserve)
	check(err)
	fmt.Println(first.ID == again.ID, first.Epoch == again.Epoch, again.Replayed)
	// Output: true true true
}

func ExampleRegistry_ReserveAll() {
	reg := open(dibs.Config{})
	defer reg.Close()

	signUp := func(email, username string) {
		_, err := reg.ReserveAll(ctx, dibs.ReserveAll{Reservations: []dibs.Reserve{
			{Namespace: "email", Value: email},
			{Namespace: "username", Value: username},
		}})
		if refused, ok := errors.AsType[*dibs.Error](err); ok {
			for _, f := range refused.Failures {
				fmt.Println(f.Err.Field, f.Err.Code)
			}
			return
		}
		fmt.Println("both are held")
	}
	signUp("alice@example.com", "alice")
	signUp("other@example.com", "alice")
	// Output:
	// both are held
	// username NAME_TAKEN
}

func ExampleRegistry_ReserveFirst() {
	reg := open(dibs.Config{})
	defer reg.Close()
	_, err := reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "alice-bob"})
	check(err)

	hold, err := reg.ReserveFirst(ctx, dibs.ReserveFirst{
		Namespace: "slug", Values: []string{"alice-bob", "bob-alice", "alice-and-bob"},
	})
	check(err)
	fmt.Println(hold.Value)
	// Output: bob-alice
}

func ExampleRegistry_Extend() {
	reg := open(dibs.Config{})
	defer reg.Close()
	hold, err := reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "alice-bob", TTL: dibs.For(time.Minute)})
	check(err)

	name, err := reg.Extend(ctx, dibs.Extend{ID: hold.ID, Token: hold.Token, TTL: dibs.For(hour)})
	check(err)
	fmt.Println(name.ExpiresAt.Sub(hold.ExpiresAt) > 50*time.Minute)
	// Output: true
}

func ExampleRegistry_Confirm() {
	reg := open(dibs.Config{})
	defer reg.Close()
	hold, err := reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "alice-bob"})
	check(err)

	// The reservation id is public. Only the token proves the hold.
	_, err = reg.Confirm(ctx, dibs.Confirm{ID: hold.ID, Token: "another-callers-token", Entity: wedding})
	fmt.Println(errors.Is(err, dibs.ErrLost))

	name, err := reg.Confirm(ctx, dibs.Confirm{ID: hold.ID, Token: hold.Token, Entity: wedding})
	check(err)
	fmt.Println(name.State)
	// Output:
	// true
	// active
}

func ExampleRegistry_Release() {
	reg := open(dibs.Config{})
	defer reg.Close()
	hold, err := reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "alice-bob"})
	check(err)

	_, err = reg.Release(ctx, dibs.Release{ID: hold.ID, Token: hold.Token})
	check(err)
	reserved, err := reg.IsReserved(ctx, "slug", "alice-bob")
	check(err)
	fmt.Println(reserved)
	// Output: false
}

func ExampleRegistry_ConfirmAll() {
	reg := open(dibs.Config{})
	defer reg.Close()
	holds, err := reg.ReserveAll(ctx, dibs.ReserveAll{Reservations: []dibs.Reserve{
		{Namespace: "email", Value: "alice@example.com"},
		{Namespace: "username", Value: "alice"},
	}})
	check(err)

	// The payment succeeded, and the account is saved.
	names, err := reg.ConfirmAll(ctx, holds, dibs.Entity{Type: "account", ID: "7"})
	check(err)
	for _, n := range names {
		fmt.Println(n.Key(), n.Entity)
	}
	// Output:
	// email:alice@example.com account/7
	// username:alice account/7
}

func ExampleRegistry_ReleaseAll() {
	reg := open(dibs.Config{})
	defer reg.Close()
	holds, err := reg.ReserveAll(ctx, dibs.ReserveAll{Reservations: []dibs.Reserve{
		{Namespace: "email", Value: "alice@example.com"},
		{Namespace: "username", Value: "alice"},
	}})
	check(err)

	// The card was declined.
	names, err := reg.ReleaseAll(ctx, holds)
	check(err)
	for _, n := range names {
		fmt.Println(n.Key(), n.State)
	}
	// Output:
	// email:alice@example.com free
	// username:alice free
}

func ExampleRegistry_Do() {
	reg := open(dibs.Config{})
	defer reg.Close()

	name, err := reg.Do(ctx, dibs.Reserve{Namespace: "slug", Value: "alice-bob"},
		func(_ context.Context, hold dibs.Hold) (dibs.Entity, error) {
			// Take the payment, save the wedding. An ordinary error releases the name; an
			// error marked with dibs.Unsure leaves it for the witness.
			fmt.Println("paying while", hold.Key(), "is", hold.State)
			return dibs.Entity{Type: "wedding", ID: "42"}, nil
		})
	check(err)
	fmt.Println(name.State)
	// Output:
	// paying while slug:alice-bob is held
	// active
}

func ExampleRegistry_DoAll() {
	reg := open(dibs.Config{})
	defer reg.Close()

	names, err := reg.DoAll(ctx, dibs.ReserveAll{Reservations: []dibs.Reserve{
		{Namespace: "email", Value: "alice@example.com"},
		{Namespace: "username", Value: "alice"},
	}}, func(context.Context, []dibs.Hold) (dibs.Entity, error) {
		return dibs.Entity{Type: "account", ID: "7"}, nil
	})
	check(err)
	for _, n := range names {
		fmt.Println(n.Key(), n.Entity)
	}
	// Output:
	// email:alice@example.com account/7
	// username:alice account/7
}

func ExampleUnsure() {
	reg := open(dibs.Config{})
	defer reg.Close()

	_, err := reg.Do(ctx, dibs.Reserve{Namespace: "slug", Value: "alice-bob"},
		func(context.Context, dibs.Hold) (dibs.Entity, error) {
			return dibs.Entity{}, dibs.Unsure(errors.New("connection lost while saving"))
		})
	var left *dibs.DoError
	fmt.Println(errors.As(err, &left), left.Holds[0].Key(), "is left", left.Holds[0].State)
	// Output: true slug:alice-bob is left held
}
