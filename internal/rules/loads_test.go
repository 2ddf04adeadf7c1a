package rules_test

import (
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/internal/rules"
)

// decide decides requests as the core does, and returns the batch and how many loads it took.
func decide(f *coretest.Fixture, requests ...*rules.Request) (b *rules.Batch, loads int) {
	f.T.Helper()
	b = new(rules.Batch)
	b.Begin(requests)
	for {
		refs, owners := b.Wanted()
		loaded, err := f.Engine.Load(f.Ctx, refs)
		if err != nil {
			f.T.Fatal(err)
		}
		owned := make([][]*dibs.NameRecord, len(owners))
		for i, o := range owners {
			if owned[i], err = f.Engine.Owned(f.Ctx, o.Scope, o.Entity, rules.OwnedLimit); err != nil {
				f.T.Fatal(err)
			}
		}
		b.Load(loaded, owned)
		b.Decide(requests)
		loads++
		if b.Complete() {
			return b, loads
		}
	}
}

// commit decides requests and commits their groups.
func commit(f *coretest.Fixture, requests ...*rules.Request) {
	f.T.Helper()
	b, _ := decide(f, requests...)
	groups, _, _ := b.Groups(requests)
	outcomes, err := coretest.StrictStore{Store: f.Engine, T: f.T}.Commit(f.Ctx, groups)
	if err != nil {
		f.T.Fatal(err)
	}
	for _, outcome := range outcomes {
		if outcome != dibs.Committed {
			f.T.Fatal(outcomes)
		}
	}
}

func loadPolicies(keys ...dibs.BlindKey) map[string]dibs.Policy {
	policies := blind(keys...)
	slug := coretest.NoLookAlikes(dibs.Policy{MaxHolds: 9})["slug"]
	policies["slug"] = slug
	policies["watched"] = dibs.Policy{Witness: coretest.AlwaysUnknown}
	return policies
}

// A command knows nearly all records that it reads before it is decided, so one load is enough.
// Only what is found through a record takes another one.
func TestLoadsOfCommands(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, loadPolicies(keyA))
	f.Must(coretest.Claim("email", "old@key", coretest.User1))
	f = f.Reopened(loadPolicies(keyB, keyA))
	set, err := rules.NewPolicies(loadPolicies(keyB, keyA), dibs.Policy{})
	if err != nil {
		t.Fatal(err)
	}
	allowed := dibs.Principal{Rights: dibs.ActForOthers | dibs.Operate}
	id := func(value string) dibs.ID { return dibs.NameID("slug", value) }
	named := func(value string, entity dibs.Entity) dibs.Named { return dibs.Named{Value: value, Entity: entity} }
	f.Must(coretest.Reserve("acme.slug", "held", coretest.Token1), coretest.Reserve("plain", "c", coretest.Token1), coretest.Reserve("plain", "d", coretest.Token1))
	f.Must(dibs.Reserve{Namespace: "watched", Value: "w", TTL: dibs.For(time.Minute)})
	f.Clock.Advance(time.Minute)
	for _, c := range []struct {
		what    string
		command dibs.Command
		loads   int
	}{
		{"reserve", coretest.Reserve("slug", "a", coretest.Token1), 1},
		{"reserve several", dibs.ReserveAll{Reservations: []dibs.Reserve{{Namespace: "slug", Value: "b"}, {Namespace: "email", Value: "b@b"}}, Token: coretest.Token1}, 1},
		{"reserve the first", dibs.ReserveFirst{Namespace: "slug", Values: []string{"c", "d"}, Token: coretest.Token1}, 1},
		{"extend", dibs.Extend{ID: id("a"), Token: coretest.Token1, TTL: dibs.For(6 * time.Minute)}, 2}, // the quota is found through the name
		{"release", dibs.Release{ID: id("c"), Token: coretest.Token1}, 2},
		{"extend elsewhere", dibs.Extend{ID: dibs.NameID("plain", "d"), Token: coretest.Token1, TTL: dibs.For(6 * time.Minute)}, 1},
		{"settle", dibs.Settle{ID: dibs.NameID("watched", "w"), Verdict: dibs.Absent}, 1},
		{"confirm", dibs.Confirm{ID: dibs.NameID("plain", "c"), Token: coretest.Token1, Entity: coretest.Wedding}, 1},
		{"confirm in a scope", dibs.Confirm{ID: dibs.NameID("acme.slug", "held"), Token: coretest.Token1, Entity: coretest.User1}, 2},
		{"rekey", dibs.Rekey{Namespace: "email", Value: "old@key"}, 2}, // the name is found through the index
		{"claim", coretest.Claim("email", "x@y", coretest.User2), 1},
		{"import", dibs.Import{Namespace: "email", Value: "i@j", Entity: coretest.User2}, 1},
		{"import an alias", dibs.Import{Namespace: "email", Value: "k@j", AliasOf: "i@j", Entity: coretest.User2}, 1},
		{"rename", dibs.Rename{Namespace: "email", Value: "z@y", From: "x@y", Entity: coretest.User2}, 1},
		{"claim elsewhere", coretest.Claim("plain", "a", coretest.User2), 1},
		{"transfer", dibs.Transfer{Namespace: "plain", Value: "a", From: coretest.User2, To: coretest.User3}, 1},
		{"claim another", coretest.Claim("plain", "b", coretest.User2), 1},
		{"swap", dibs.Swap{Namespace: "plain", A: named("a", coretest.User3), B: named("b", coretest.User2)}, 1},
		{"decommission", coretest.Decommission("email", "z@y", coretest.User2), 1},
		{"archive", dibs.Archive{Entity: coretest.User2}, 1},
		{"restore", dibs.Restore{Entity: coretest.User2}, 1},
		{"delete", dibs.Delete{Entity: coretest.User2}, 3}, // its names are listed, and then read
	} {
		request, refused := set.Apply(dibs.ApplyRequest{Principal: allowed, Commands: []dibs.Command{c.command}})
		if refused != nil {
			t.Fatalf("%s: %v", c.what, refused)
		}
		if _, got := decide(f, request); got != c.loads {
			t.Errorf("%s takes %d loads, want %d", c.what, got, c.loads)
		}
		f.Must(c.command)
	}
}

// The Confirms of a list ask for their entities together, also if each is refused because of the one
// before it.
func TestLoadsOfManyConfirms(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	hold := f.One(coretest.Reserve("acme.slug", "x", coretest.Token1))
	var confirms []dibs.Command
	for _, user := range []dibs.Entity{coretest.User1, coretest.User2, coretest.User3} {
		f.Must(coretest.Claim("acme.slug", user.ID, user))
		confirms = append(confirms, dibs.Confirm{ID: hold.ID, Token: coretest.Token1, Entity: user})
	}
	set, err := rules.NewPolicies(nil, dibs.Policy{})
	if err != nil {
		t.Fatal(err)
	}
	request, refused := set.Apply(dibs.ApplyRequest{Commands: confirms})
	if refused != nil {
		t.Fatal(refused)
	}
	if _, got := decide(f, request); got != 2 {
		t.Errorf("%d loads, want 2: the name, and then all entities", got)
	}
	for _, user := range []dibs.Entity{coretest.User1, coretest.User2, coretest.User3} {
		request.AlsoLoad(dibs.Ref{Kind: dibs.KindEntity, Scope: "acme", ID: dibs.EntityID("acme", user)})
	}
	if _, got := decide(f, request); got != 1 {
		t.Errorf("%d loads, want 1 if the entities are known", got)
	}
}

// A question, and what the registry does on its own account, takes one load.
func TestLoadsOfJobs(t *testing.T) {
	t.Parallel()
	policies := loadPolicies(keyA)
	f := coretest.NewFixture(t, policies)
	hold := f.One(coretest.Reserve("slug", "held", coretest.Token1))
	f.Must(coretest.Claim("slug", "x", coretest.User1), coretest.Claim("email", "x@y", coretest.User1))
	suspect := f.One(coretest.Reserve("watched", "s", coretest.Token1))
	f.Clock.Advance(aHold)
	set, err := rules.NewPolicies(policies, dibs.Policy{})
	if err != nil {
		t.Fatal(err)
	}
	request := func(r *rules.Request, refused *dibs.Error) *rules.Request {
		t.Helper()
		if refused != nil {
			t.Fatal(refused)
		}
		return r
	}
	byID, e1 := set.LookUp(dibs.Lookup{ID: hold.ID})
	byValue, e2 := set.LookUp(dibs.Lookup{Namespace: "slug", Value: "held"})
	entity, e3 := set.FindEntity("", coretest.User1)
	found, e4 := set.FindName("slug", "held")
	resolve, e5 := set.Resolve("slug", "nothing")
	check, e6 := set.Check(dibs.CheckRequest{Namespace: "slug", Values: []string{"a", "b"}})
	forget, e7 := set.ForgetName(dibs.ForgetRequest{Namespace: "slug", Value: "nothing"})
	record, e8 := set.NamespaceRecord("slug")
	row := f.Records(dibs.KindName)[0].(*dibs.NameRecord)
	now := dibs.InstantOf(f.Clock.Now())
	for what, r := range map[string]*rules.Request{
		"a lookup by ID":       request(byID.Request, e1),
		"a lookup by value":    request(byValue.Request, e2),
		"an entity":            request(entity.Request, e3),
		"a name":               request(found.Request, e4),
		"a free name resolved": request(resolve.Request, e5),
		"a check":              request(check.Request, e6),
		"nothing to forget":    request(forget.Request, e7),
		"a namespace record":   request(record.Request, e8),
		"namespaces":           set.NamespacesOf([]dibs.ID{hold.ID, suspect.ID}).Request,
		"names":                set.ReadNames([]dibs.Ref{row.Ref()}).Request,
		"a revision":           set.Revision(row.Ref()).Request,
		"other rows":           set.OtherRows(row.Ref()).Request,
		"suggestions":          set.Suggest("slug", []rules.Model{{Name: "x", Refused: true}}, []string{"a", "b"}, 3, []string{"random"}).Request,
		"a sweep":              set.Sweep(dibs.Ref{Kind: dibs.KindName, ID: hold.ID}).Request,
		"an absent suspect":    set.Testify(rules.Testimony{ID: suspect.ID, Epoch: suspect.Epoch, Expires: suspect.ExpiresAt, Verdict: dibs.Absent}).Request,
		"a plan":               set.NewPlan().Page([]*dibs.NameRecord{row}, now).Request,
		"a tally":              rules.AddTally(rules.Tally{Namespace: "slug", Reason: "held", Hour: now, Count: 1}, now).Request,
		"activity":             rules.AddActivity(rules.Activity{Namespace: "slug", Start: now}).Request,
	} {
		if _, got := decide(f, r); got != 1 {
			t.Errorf("%s takes %d loads, want 1", what, got)
		}
	}
}
