package rules_test

import (
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// An imported name has the dates that it had in the other system.
func TestImportDates(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	now := f.Clock.Now()
	since := func(value string, at time.Time) dibs.Import {
		return dibs.Import{Namespace: "slug", Value: value, Entity: dibs.Entity{Type: "user", ID: value}, Since: at}
	}
	for value, at := range map[string]time.Time{"old": now.Add(-time.Hour), "first": time.UnixMilli(1), "now": now} {
		n := f.One(since(value, at))
		if !n.CreatedAt.Equal(at) || !n.ConfirmedAt.Equal(at) {
			t.Errorf("%s since %v: created %v, confirmed %v", value, at, n.CreatedAt, n.ConfirmedAt)
		}
		if history := f.HistoryOf("slug", value); len(history) != 1 || !history[0].At.Time().Equal(at) {
			t.Errorf("%s since %v: %+v", value, at, history)
		}
	}
	if n := f.One(since("undated", time.Time{})); !n.CreatedAt.Equal(now) {
		t.Errorf("without a date it was created %v", n.CreatedAt)
	}
	for value, at := range map[string]time.Time{"future": now.Add(time.Millisecond), "epoch": time.UnixMilli(0), "before": time.UnixMilli(-1)} {
		f.Refused(dibs.ErrInvalidValue, since(value, at))
		f.WantState("slug", value, dibs.Free)
	}
	// A history is in order: a name that was given up lately cannot have been had before.
	f.Must(coretest.Claim("slug", "again", coretest.User1), coretest.Decommission("slug", "again", coretest.User1))
	if n := f.One(since("again", now.Add(-time.Hour))); !n.CreatedAt.Equal(now) {
		t.Errorf("taken again, it was created %v", n.CreatedAt)
	}
}

func TestImportDetails(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	meta := map[string]string{"from": "legacy"}
	n := f.ActAs("mover", 0).One(dibs.Import{Namespace: "slug", Value: "a", Entity: coretest.User1, CorrelationID: "row-7", Meta: meta})
	meta["from"] = "elsewhere"
	if got := f.NameOf("slug", "a"); got.Principal != "mover" || got.CorrelationID != "row-7" || got.Meta["from"] != "legacy" || n.State != dibs.Active {
		t.Errorf("%+v", got)
	}
	f.Replayed(dibs.Import{Namespace: "slug", Value: "a", Entity: coretest.User1})
	long := strings.Repeat("x", 300)
	f.Refused(dibs.ErrInvalidValue, dibs.Import{Namespace: "slug", Value: "b", Entity: coretest.User2, CorrelationID: long})
	f.Refused(dibs.ErrInvalidValue, dibs.Import{Namespace: "slug", Value: "b", Entity: coretest.User2, Meta: map[string]string{"": "x"}})
	f.Refused(dibs.ErrInvalidEntity, dibs.Import{Namespace: "slug", Value: "b"})
	f.Refused(dibs.ErrNameTaken, dibs.Import{Namespace: "slug", Value: "a", Entity: coretest.User2})
	f.Refused(dibs.ErrEntityHasName, dibs.Import{Namespace: "slug", Value: "b", Entity: coretest.User1})
}

// An alias is entered beside its active name, and each stays what it is.
func TestImportAlias(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {AliasRetention: time.Hour}})
	alias := func(value, of string) dibs.Import {
		return dibs.Import{Namespace: "slug", Value: value, AliasOf: of, Entity: coretest.User1}
	}
	f.Refused(dibs.ErrNotOwner, alias("old", "new"))
	f.Must(dibs.Import{Namespace: "slug", Value: "new", Entity: coretest.User1}, alias("old", "new"))
	f.WantResolve("slug", "old", 301, "new")
	if n := f.NameOf("slug", "old"); n.State != dibs.Alias || !n.Until.Equal(f.Clock.Now().Add(time.Hour)) || !n.EndedAt.IsZero() {
		t.Errorf("%+v", n)
	}
	f.Replayed(alias("old", "new"))
	// Neither becomes the other.
	f.Refused(dibs.ErrEntityHasName, alias("new", "new"))
	f.Refused(dibs.ErrEntityHasName, dibs.Import{Namespace: "slug", Value: "old", Entity: coretest.User1})
	// A name that was given up lately can be imported as an alias of its owner.
	f.Must(coretest.Decommission("slug", "old", coretest.User1))
	f.Must(alias("old", "new"))
	if n := f.NameOf("slug", "old"); n.State != dibs.Alias || !n.EndedAt.IsZero() {
		t.Errorf("entered again, it is %+v", n)
	}
}

// Where an entity may have many names, each imported one has a line of its own: a rename of one does
// not touch the others.
func TestImportMany(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, map[string]dibs.Policy{"email": {ManyPerEntity: true}})
	for _, value := range []string{"a@x", "b@x"} {
		f.Must(dibs.Import{Namespace: "email", Value: value, Entity: coretest.User1})
	}
	f.Must(dibs.Import{Namespace: "email", Value: "old-a@x", AliasOf: "a@x", Entity: coretest.User1})
	f.Must(dibs.Rename{Namespace: "email", Value: "c@x", From: "a@x", Entity: coretest.User1})
	f.WantResolve("email", "a@x", 301, "c@x")
	f.WantResolve("email", "old-a@x", 301, "c@x")
	f.WantResolve("email", "b@x", 200, "")
	lines := make(map[dibs.ID]bool)
	for _, r := range f.Records(dibs.KindName) {
		if n := r.(*dibs.NameRecord); n.State == dibs.Active {
			lines[n.Line] = true
		}
	}
	if len(lines) != 2 || lines[dibs.ID{}] {
		t.Errorf("the active names have the lines %v", lines)
	}
}

// anywhere are grants of a caller of a server, with all rights.
type anywhere struct{}

func (anywhere) RightsIn(string) dibs.Rights {
	return dibs.Operate | dibs.ActForOthers | dibs.OverrideReserved
}
func (anywhere) Allow(dibs.Command, string) bool { return true }

// An operator with the store learns which name a row looks like; a caller does not, by any command.
func TestImportOfLookAlikes(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.NoLookAlikes(dibs.Policy{}))
	f.Must(coretest.Claim("slug", "sala", coretest.User1), dibs.Reserve{Namespace: "slug", Value: "oslo", Token: coretest.Token1})
	operator := f.ActAs("", dibs.Operate)
	caller := f.With(f.As(dibs.Principal{Name: "shop", Grants: anywhere{}}))
	for value, want := range map[string]string{"sa1a": "slug:sa1a looks like sala of user/1", "os1o": "slug:os1o looks like oslo"} {
		row := dibs.Import{Namespace: "slug", Value: value, Entity: coretest.User2}
		if err := operator.Refused(dibs.ErrNameTaken, row); err.Message != want || err.Reason != dibs.ReasonConfusable {
			t.Errorf("an operator is told %q, want %q", err.Message, want)
		}
		for _, other := range []*coretest.Fixture{caller, f.ActAs("guest", 0)} {
			for _, command := range []dibs.Command{row, coretest.Claim("slug", value, coretest.User2)} {
				if err := other.Refused(dibs.ErrNameTaken, command); err.Message != "slug:"+value+" looks like a taken name" {
					t.Errorf("a caller is told %q", err.Message)
				}
			}
			if err := other.Refused(dibs.ErrNameTaken, dibs.Reserve{Namespace: "slug", Value: value}); !strings.HasSuffix(err.Message, "looks like a taken name; if both belong to one entity, name the entity") {
				t.Errorf("a caller that names no entity is told %q", err.Message)
			}
		}
	}
	f.Must(coretest.Rename("slug", "sa1a", coretest.User1)) // both belong to one entity
	row := dibs.Import{Namespace: "slug", Value: "sa1a", Entity: coretest.User2}
	if err := operator.Refused(dibs.ErrNameTaken, row); err.Reason != dibs.ReasonInUse || strings.Contains(err.Message, "sala") {
		t.Errorf("of a name that is taken itself an operator is told %q", err.Message)
	}
}
