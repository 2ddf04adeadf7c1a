package rules_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// numbered returns n reservations in the namespace slug.
func numbered(n int) (list []dibs.Reserve, values []string) {
	for i := range n {
		values = append(values, fmt.Sprint("v", i))
		list = append(list, coretest.Reserve("slug", values[i], ""))
	}
	return list, values
}

func TestListLengths(t *testing.T) {
	t.Parallel()
	f := inputFixture(t)
	f.Refused(dibs.ErrInvalidValue, dibs.ReserveAll{})
	f.Refused(dibs.ErrInvalidValue, dibs.ReserveFirst{Namespace: "slug"})
	list, values := numbered(33)
	f.Refused(dibs.ErrTooLarge, dibs.ReserveAll{Reservations: list})
	f.Refused(dibs.ErrTooLarge, dibs.ReserveFirst{Namespace: "slug", Values: values})
	commands := make([]dibs.Command, 33)
	for i, r := range list {
		commands[i] = r
	}
	f.Refused(dibs.ErrTooLarge, commands...)
	f.Must(dibs.ReserveFirst{Namespace: "slug", Values: values[:32]})
	f.Must(dibs.ReserveAll{Reservations: list[1:]})
	for i := range commands {
		commands[i] = coretest.Claim(fmt.Sprint("ns", i), "x", coretest.User3)
	}
	f.Must(commands[:32]...)

	hundred := make([]string, 101)
	for i := range hundred {
		hundred[i] = fmt.Sprint("v", i)
	}
	if _, err := f.Check(f.Ctx, dibs.CheckRequest{Namespace: "slug", Values: hundred[:100]}); err != nil {
		t.Error(err)
	}
	_, err := f.Check(f.Ctx, dibs.CheckRequest{Namespace: "slug", Values: hundred})
	f.CheckError(err, dibs.ErrTooLarge)
}

// failures returns the indexes and codes of an error's parts.
func failures(e *dibs.Error) (parts []string) {
	for _, f := range e.Failures {
		parts = append(parts, fmt.Sprintf("%d %s", f.Index, f.Err.Code))
	}
	return parts
}

func wantFailures(t *testing.T, e *dibs.Error, want ...string) {
	t.Helper()
	if got := failures(e); !slices.Equal(got, want) {
		t.Errorf("the failures are %q, want %q", got, want)
	}
}

func TestListFailures(t *testing.T) {
	t.Parallel()
	f := inputFixture(t)
	all := func(values ...string) dibs.ReserveAll {
		var c dibs.ReserveAll
		for i, v := range values {
			r := coretest.Reserve("slug", v, "")
			r.Field = fmt.Sprint("field", i)
			c.Reservations = append(c.Reservations, r)
		}
		return c
	}
	// Every one that is not well-formed is named, also a duplicate.
	e := f.Refused(dibs.ErrInvalidValue, all("ok", "\n", "ok", "admin", "fine"))
	wantFailures(t, e, "1 INVALID_VALUE", "2 INVALID_VALUE", "3 RESERVED_WORD")
	if !strings.Contains(e.Failures[1].Err.Message, "same name as number 1") {
		t.Errorf("%q does not say which is the same", e.Failures[1].Err.Message)
	}
	// Every one that is taken is named, with its field and reason.
	e = f.Refused(dibs.ErrNameTaken, all("ok", "held", "fine", "mine"))
	wantFailures(t, e, "1 NAME_TAKEN", "3 NAME_TAKEN")
	if first := e.Failures[0].Err; first.Field != "field1" || first.Reason != dibs.ReasonHeld || first.Key != "slug:held" {
		t.Errorf("the first failure is about %s, %s, %s", first.Field, first.Reason, first.Key)
	}
	if e.Reason != dibs.ReasonHeld || !strings.Contains(e.Message, "2 of 4") {
		t.Errorf("the error is not that of the first failure: %v", e)
	}
	// ReserveFirst passes over what nobody can have, and says why for each.
	e = f.Refused(dibs.ErrInvalidValue, dibs.ReserveFirst{Namespace: "slug", Values: []string{"\n", "admin", "held", "mine"}})
	wantFailures(t, e, "0 INVALID_VALUE", "1 RESERVED_WORD", "2 NAME_TAKEN", "3 NAME_TAKEN")
	n := f.One(dibs.ReserveFirst{Namespace: "slug", Values: []string{"\n", "admin", "held", "mine", "free", "fine"}})
	if n.Value != "free" {
		t.Errorf("it took %s", n.Value)
	}
	// Apply names every command that fails, before and behind the engine.
	e = f.Refused(dibs.ErrInvalidNamespace, coretest.Claim("slug", "a", coretest.User3), coretest.Claim("", "a", coretest.User3), coretest.Reserve("slug", "\n", ""))
	wantFailures(t, e, "1 INVALID_NAMESPACE", "2 INVALID_VALUE")
	e = f.Refused(dibs.ErrEntityHasName, coretest.Claim("slug", "a", coretest.User3), coretest.Claim("slug", "b", coretest.User1), coretest.Claim("slug", "held", coretest.User3))
	wantFailures(t, e, "1 ENTITY_HAS_NAME", "2 NAME_TAKEN")
	// A list of one is a list all the same, an Apply of one is not.
	wantFailures(t, f.Refused(dibs.ErrNameTaken, all("held")), "0 NAME_TAKEN")
	wantFailures(t, f.Refused(dibs.ErrNameTaken, coretest.Reserve("slug", "held", "")))
	wantFailures(t, f.Refused(dibs.ErrInvalidValue, coretest.Reserve("slug", "\n", "")))
}

func TestReserveFirstOwn(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	first := dibs.ReserveFirst{Namespace: "slug", Values: []string{"a", "b", "c"}, Token: coretest.Token1}
	f.Must(coretest.Reserve("slug", "a", coretest.Token2))
	if n := f.One(first); n.Value != "b" {
		t.Fatalf("it took %s", n.Value)
	}
	// The candidate that the token holds comes before one that became free.
	f.Must(dibs.Release{ID: dibs.NameID("slug", "a"), Token: coretest.Token2})
	if r := f.Replayed(first); r.Names[0].Value != "b" {
		t.Fatalf("it took %s", r.Names[0].Value)
	}
	// A hold that is over keeps a late duplicate from taking another.
	f.Must(dibs.Release{ID: dibs.NameID("slug", "b"), Token: coretest.Token1})
	f.Refused(dibs.ErrAlreadyReleased, first)
	// What the token holds now comes before what it held once.
	f.Must(coretest.Reserve("slug", "c", coretest.Token1))
	if r := f.Replayed(first); r.Names[0].Value != "c" {
		t.Fatalf("it took %s", r.Names[0].Value)
	}
	// The same token for another entity is another request.
	first.Entity = coretest.User1
	f.Refused(dibs.ErrInvalidToken, first)
}

func TestReserveAllReplay(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	list, _ := numbered(3)
	all := dibs.ReserveAll{Reservations: list, Token: coretest.Token1}
	f.Must(all)
	if r := f.Replayed(all); len(r.Names) != 3 || r.Token != coretest.Token1 {
		t.Errorf("replayed as %+v", r)
	}
	// The same value in two namespaces is two names.
	other := coretest.Reserve("other", "v0", "")
	f.Must(dibs.ReserveAll{Reservations: []dibs.Reserve{list[0], other}, Token: coretest.Token1})
}

func TestDetails(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	long, most := strings.Repeat("a", 256), strings.Repeat("a", 255)
	many := make(map[string]string)
	for i := range 17 {
		many[fmt.Sprint(i)] = "v"
	}
	type details struct {
		correlation string
		meta        map[string]string
	}
	bad := map[string]details{
		"long correlation": {long, nil},
		"bad correlation":  {"a\nb", nil},
		"17 entries":       {"", many},
		"long key":         {"", map[string]string{long: "v"}},
		"no key":           {"", map[string]string{"": "v"}},
		"bad key":          {"", map[string]string{"\x00": "v"}},
		"long value":       {"", map[string]string{"k": long}},
		"bad value":        {"", map[string]string{"k": "\xff"}},
	}
	for name, d := range bad {
		t.Run(name, func(*testing.T) {
			r := dibs.Reserve{Namespace: "slug", Value: "x", CorrelationID: d.correlation, Meta: d.meta}
			f.Refused(dibs.ErrInvalidValue, r)
			f.Refused(dibs.ErrInvalidValue, dibs.ReserveAll{Reservations: []dibs.Reserve{r}})
			f.Refused(dibs.ErrInvalidValue, dibs.ReserveFirst{Namespace: "slug", Values: []string{"x"}, CorrelationID: d.correlation, Meta: d.meta})
			f.Refused(dibs.ErrInvalidValue, dibs.Claim{Namespace: "slug", Value: "x", Entity: coretest.User1, CorrelationID: d.correlation, Meta: d.meta})
			if d.meta == nil {
				f.Refused(dibs.ErrInvalidValue, dibs.Rename{Namespace: "slug", Value: "x", Entity: coretest.User1, CorrelationID: d.correlation})
			}
		})
	}
	delete(many, "16")
	many["0"] = "" // a value may be empty
	delete(many, "1")
	many[most] = most
	n := f.One(dibs.Claim{Namespace: "slug", Value: "x", Entity: coretest.User1, CorrelationID: most, Meta: many})
	if n.CorrelationID != most || len(n.Meta) != 16 || n.Meta[most] != most {
		t.Error("the details were not kept")
	}
	if e := f.AllEvents()[0]; e.CorrelationID != most || len(e.Meta) != 16 {
		t.Error("the first event does not carry the details")
	}
	f.Must(coretest.Decommission("slug", "x", coretest.User1))
	if e := f.AllEvents()[1]; e.CorrelationID != most || e.Meta != nil {
		t.Error("meta belongs to the first event alone")
	}
}

func TestBadPrincipal(t *testing.T) {
	t.Parallel()
	f := inputFixture(t)
	for _, name := range []string{strings.Repeat("a", 256), "a\nb", "\xff"} {
		f.ActAs(name, 0).Refused(dibs.ErrInvalidValue, coretest.Reserve("slug", "x", ""))
	}
	if n := f.ActAs(strings.Repeat("a", 255), 0).One(coretest.Reserve("slug", "x", "")); len(n.Principal) != 255 {
		t.Error("the principal was not kept")
	}
}

func TestBadID(t *testing.T) {
	t.Parallel()
	f := inputFixture(t)
	good := dibs.NameID("slug", "held").String()
	for _, s := range []string{
		"", "res_", good[4:], good[:29], good + "a", strings.ToUpper(good), "RES_" + good[4:], "res-" + good[4:],
		"res_" + strings.Repeat("1", 26), good[:29] + "b", " " + good,
	} {
		_, err := dibs.ParseID(s)
		f.CheckError(err, dibs.ErrNotFound)
	}
	if id, err := dibs.ParseID(good); err != nil || id != dibs.NameID("slug", "held") {
		t.Errorf("%s reads as %v, %v", good, id, err)
	}
	unknown := dibs.NameID("slug", "nobody's")
	for _, id := range []dibs.ID{unknown, {}} {
		f.Refused(dibs.ErrNotFound, dibs.Extend{ID: id, Token: coretest.Token1})
		f.Refused(dibs.ErrNotFound, dibs.Confirm{ID: id, Token: coretest.Token1, Entity: coretest.User1})
		f.Refused(dibs.ErrNotFound, dibs.Release{ID: id, Token: coretest.Token1})
		f.Refused(dibs.ErrNotFound, dibs.Settle{ID: id, Verdict: dibs.Absent})
	}
	_, err := f.Get(f.Ctx, dibs.Lookup{ID: unknown})
	f.CheckError(err, dibs.ErrNotFound)
}

func TestBadSettle(t *testing.T) {
	t.Parallel()
	f := inputFixture(t)
	id := dibs.NameID("slug", "held")
	f.Refused(dibs.ErrInvalidValue, dibs.Settle{ID: id})
	f.Refused(dibs.ErrInvalidValue, dibs.Settle{ID: id, Verdict: dibs.Unknown})
	f.ActAs("ann", dibs.ActForOthers|dibs.OverrideReserved).Refused(dibs.ErrNotOwner, dibs.Settle{ID: id, Verdict: dibs.Absent})
}

func TestReservedWords(t *testing.T) {
	t.Parallel()
	f := inputFixture(t)
	guest, clerk := f.ActAs("guest", dibs.ActForOthers|dibs.Operate), f.ActAs("clerk", dibs.OverrideReserved)
	asking := func(override bool) []dibs.Command {
		return []dibs.Command{
			dibs.Reserve{Namespace: "slug", Value: "admin", OverrideReserved: override},
			dibs.ReserveAll{Reservations: []dibs.Reserve{{Namespace: "slug", Value: "admin", OverrideReserved: override}}},
			dibs.ReserveFirst{Namespace: "slug", Values: []string{"admin"}, OverrideReserved: override},
			dibs.Claim{Namespace: "slug", Value: "admin", Entity: coretest.User3, OverrideReserved: override},
			dibs.Rename{Namespace: "slug", Value: "admin", Entity: coretest.User1, OverrideReserved: override},
		}
	}
	for _, command := range asking(false) {
		guest.Refused(dibs.ErrReservedWord, command)
		clerk.Refused(dibs.ErrReservedWord, command)
	}
	for _, command := range asking(true) {
		guest.Refused(dibs.ErrReservedWord, command)
		if _, err := clerk.DryRun(f.Ctx, command); err != nil {
			t.Errorf("%#v: %v", command, err)
		}
	}
	// It is about new names alone: who has one can give it up.
	clerk.Must(asking(true)[3])
	guest.Must(coretest.Decommission("slug", "admin", coretest.User3))
	answers, err := f.Check(f.Ctx, dibs.CheckRequest{Namespace: "slug", Values: []string{"admin", "\n"}})
	if err != nil || answers[0].Reason != dibs.ReasonReservedWord || answers[1].Reason != dibs.ReasonInvalid {
		t.Errorf("Check says %+v, %v", answers, err)
	}
	f.Must(coretest.Claim("other", "admin", coretest.User3)) // another namespace has other words
}

func TestBadQueries(t *testing.T) {
	t.Parallel()
	f := inputFixture(t)
	_, err := f.List(f.Ctx, dibs.NamesQuery{State: "taken"})
	f.CheckError(err, dibs.ErrInvalidValue)
	_, err = f.List(f.Ctx, dibs.NamesQuery{Prefix: "\xff"})
	f.CheckError(err, dibs.ErrInvalidValue)
	_, err = f.List(f.Ctx, dibs.NamesQuery{Namespace: "Slug"})
	f.CheckError(err, dibs.ErrInvalidNamespace)
	for _, cursor := range []string{"!", "YQ", "a"} {
		if _, err := f.List(f.Ctx, dibs.NamesQuery{Cursor: cursor}); !errors.Is(err, dibs.ErrBadCursor) {
			t.Errorf("List with cursor %q: %v", cursor, err)
		}
	}
	for _, cursor := range []dibs.Cursor{"x", "0", "-1", "01", "99", "1.5"} {
		if _, err := f.Events(f.Ctx, dibs.FeedQuery{After: cursor}); !errors.Is(err, dibs.ErrBadCursor) {
			t.Errorf("Events with cursor %q: %v", cursor, err)
		}
	}
	_, err = f.Events(f.Ctx, dibs.FeedQuery{Namespace: "."})
	f.CheckError(err, dibs.ErrInvalidNamespace)
	if _, err := f.Sweep(f.Ctx, 0); err == nil {
		t.Error("a sweep of nothing is accepted")
	}
	// Nobody can have such a name, so it leads nowhere.
	f.WantLeads("slug", "\n", 404, "")
}
