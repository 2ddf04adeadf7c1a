package dibs_test

import (
	"fmt"
	"time"

	"github.com/calldibs/dibs"
)

func ExampleRegistry_Check() {
	reg := open(dibs.Config{})
	defer reg.Close()
	give(reg, "spring", kit)

	answers, err := reg.Check(ctx, dibs.CheckRequest{Namespace: "slug", Values: []string{"spring", "autumn"}, Suggest: 2})
	check(err)
	for _, a := range answers {
		fmt.Println(a.Value, a.Available, a.Reason, a.Suggestions)
	}
	// Output:
	// spring false in_use [spring-2 spring-3]
	// autumn true  []
}

func ExampleRegistry_Resolve() {
	reg := open(dibs.Config{})
	defer reg.Close()
	give(reg, "spring", kit)

	r, err := reg.Resolve(ctx, "slug", "spring")
	check(err)
	fmt.Println(r.Outcome, r.Status, r.Entity)
	// Output: active 200 product/101
}

func ExampleRegistry_Get() {
	reg := open(dibs.Config{})
	defer reg.Close()
	give(reg, "spring", kit)

	name, err := reg.Get(ctx, dibs.Lookup{Namespace: "slug", Value: "spring"})
	check(err)
	same, err := reg.Get(ctx, dibs.Lookup{ID: name.ID})
	check(err)
	fmt.Println(name.ID, same.Key(), same.Status)
	// Output: res_na3p7egyqmoocjuyesjf6lekuq slug:spring confirmed
}

func ExampleRegistry_IsReserved() {
	reg := open(dibs.Config{})
	defer reg.Close()
	give(reg, "spring", kit)

	for _, value := range []string{"spring", "autumn"} {
		reserved, err := reg.IsReserved(ctx, "slug", value)
		check(err)
		fmt.Println(value, reserved)
	}
	// Output:
	// spring true
	// autumn false
}

func ExampleRegistry_RemainingTTL() {
	reg := open(dibs.Config{})
	defer reg.Close()
	hold, err := reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "spring", TTL: dibs.For(hour)})
	check(err)

	left, err := reg.RemainingTTL(ctx, hold.ID)
	check(err)
	fmt.Println(left.Round(time.Minute))
	// Output: 1h0m0s
}

func ExampleRegistry_Entity() {
	reg := open(dibs.Config{})
	defer reg.Close()
	give(reg, "aurora-flower-kit", kit)
	_, err := reg.Rename(ctx, dibs.Rename{Namespace: "slug", Entity: kit, Value: "the-aurora-kit"})
	check(err)

	info, err := reg.Entity(ctx, "", kit)
	check(err)
	fmt.Println(info.Entity, "version", info.Version)
	for _, n := range info.Names {
		fmt.Println(n.Value, n.State)
	}
	// Output:
	// product/101 version 2
	// aurora-flower-kit alias
	// the-aurora-kit active
}

func ExampleRegistry_List() {
	reg := open(dibs.Config{})
	defer reg.Close()
	for i, value := range []string{"spring-kit", "spring-poster", "summer-kit"} {
		give(reg, value, dibs.Entity{Type: "product", ID: fmt.Sprint(i)})
	}

	query := dibs.NamesQuery{Namespace: "slug", State: dibs.Active, Prefix: "spring-", Limit: 1}
	for {
		page, err := reg.List(ctx, query)
		check(err)
		for _, n := range page.Names {
			fmt.Println(n.Value)
		}
		if page.Next == "" {
			break
		}
		query.Cursor = page.Next
	}
	// Output:
	// spring-kit
	// spring-poster
}

func ExampleRegistry_History() {
	reg := open(dibs.Config{})
	defer reg.Close()
	give(reg, "spring", kit)
	_, err := reg.Transfer(ctx, dibs.Transfer{Namespace: "slug", Value: "spring", From: kit, To: poster})
	check(err)

	events, err := reg.History(ctx, "slug", "spring")
	check(err)
	for _, e := range events {
		fmt.Println(e.Kind, e.Before.State, "→", e.After.State, e.Entity)
	}
	// Output:
	// claimed free → active product/101
	// transferred active → active product/102
}

func ExampleRegistry_HistoryPage() {
	reg := open(dibs.Config{})
	defer reg.Close()
	give(reg, "spring", kit)
	for _, pair := range [][2]dibs.Entity{{kit, poster}, {poster, kit}, {kit, poster}} {
		_, err := reg.Transfer(ctx, dibs.Transfer{Namespace: "slug", Value: "spring", From: pair[0], To: pair[1]})
		check(err)
	}

	// The first page has the newest events. Within a page the oldest comes first.
	query := dibs.HistoryQuery{Namespace: "slug", Value: "spring", Limit: 3}
	for {
		page, err := reg.HistoryPage(ctx, query)
		check(err)
		for _, e := range page.Events {
			fmt.Println(e.Kind, e.Entity)
		}
		if page.Next == "" {
			break
		}
		query.Cursor = page.Next
		fmt.Println("before that:")
	}
	// Output:
	// transferred product/102
	// transferred product/101
	// transferred product/102
	// before that:
	// claimed product/101
}

func ExampleRegistry_WhoHeld() {
	reg := open(dibs.Config{})
	defer reg.Close()
	give(reg, "spring", kit)

	now, err := reg.WhoHeld(ctx, "slug", "spring", time.Now().Add(time.Minute))
	check(err)
	inMarch, err := reg.WhoHeld(ctx, "slug", "spring", time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC))
	check(err)
	fmt.Println("now:", now.State, now.Entity)
	fmt.Println("then:", inMarch.State)
	// Output:
	// now: active product/101
	// then: free
}

func ExampleRegistry_Events() {
	reg := open(dibs.Config{})
	defer reg.Close()
	give(reg, "spring", kit)
	give(reg, "summer", poster)

	page, err := reg.Events(ctx, dibs.FeedQuery{Limit: 1})
	check(err)
	fmt.Println(page.Events[0].Key())
	page, err = reg.Events(ctx, dibs.FeedQuery{After: page.Next})
	check(err)
	fmt.Println(page.Events[0].Key())
	// Output:
	// slug:spring
	// slug:summer
}

func ExampleRegistry_Watch() {
	reg := open(dibs.Config{})
	defer reg.Close()
	go give(reg, "spring", kit)

	for event, err := range reg.Watch(ctx, dibs.FeedQuery{Namespace: "slug"}) {
		check(err)
		fmt.Println(event.Kind, event.Key())
		break // a real reader continues; it stores event.Cursor to resume after a restart
	}
	// Output: claimed slug:spring
}

func ExampleRegistry_Conflicts() {
	reg := open(dibs.Config{})
	defer reg.Close()
	give(reg, "spring", kit)
	for range 3 {
		_, _ = reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "spring"})
	}

	buckets, err := reg.Conflicts(ctx, dibs.ConflictsQuery{Namespace: "slug"})
	check(err)
	fmt.Println(buckets[0].Reason, buckets[0].Count)
	// Output: in_use 3
}

func ExampleRegistry_Activity() {
	reg := open(dibs.Config{})
	defer reg.Close()
	give(reg, "spring", kit)
	for range 3 {
		_, _ = reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "spring"})
	}

	activity, err := reg.Activity(ctx, dibs.ActivityQuery{Namespace: "slug", Per: time.Hour})
	check(err)
	var claimed, refused uint64
	for _, hour := range activity.Buckets {
		claimed += hour.Events[dibs.EventClaimed]
		refused += hour.Refused
	}
	fmt.Println(claimed, "claimed,", refused, "refused")
	// Output: 1 claimed, 3 refused
}

func ExampleRegistry_As() {
	reg := openHere(dibs.Config{})
	defer reg.Close()

	alice := reg.As(dibs.Principal{Name: "alice"})
	mallory := reg.As(dibs.Principal{Name: "mallory"})
	hold, err := alice.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "spring"})
	check(err)
	// The hold belongs to alice: mallory cannot use it, even with the token.
	_, err = mallory.Release(ctx, dibs.Release{ID: hold.ID, Token: hold.Token})
	fmt.Println(err)
	// Output: dibs: RESERVATION_LOST: this token does not hold slug:spring, or no longer does
}

func ExampleRegistry_AwaitEvents() {
	reg := open(dibs.Config{})
	defer reg.Close()

	go give(reg, "the-aurora-kit", kit)
	page, err := reg.AwaitEvents(ctx, dibs.FeedQuery{})
	check(err)
	fmt.Println(page.Events[0].Kind, page.Events[0].Key())
	// Output: claimed slug:the-aurora-kit
}

func ExampleRegistry_Stats() {
	reg := open(dibs.Config{})
	defer reg.Close()

	give(reg, "the-aurora-kit", kit)
	give(reg, "the-poster", poster)
	_, err := reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "alice-bob", TTL: dibs.For(30 * time.Second)})
	check(err)
	stats, err := reg.Stats(ctx)
	check(err)
	for _, c := range stats.Names {
		fmt.Println(c.Count, c.Namespace, c.State)
	}
	fmt.Println(stats.EndingSoon, "about to end")
	// Output:
	// 2 slug active
	// 1 slug held
	// 1 about to end
}

func ExampleRegistry_Policy() {
	reg := openHere(dibs.Config{Policies: map[string]dibs.Policy{"slug": {MaxTTL: time.Minute}}})
	defer reg.Close()

	policy, err := reg.Policy("acme.slug") // has the policy of its type
	check(err)
	fmt.Println(policy.DefaultTTL, policy.Profile.Name())
	// Output: 1m0s exact/1
}
