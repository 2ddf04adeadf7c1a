package pgstore_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/sqlrow"
	"github.com/calldibs/dibs/pgstore"
)

// odd is a text with everything that separates or escapes fields of dibs_name_rows.detail.
const odd = "a\tb\\t\nc\\n\\\\'\"\r é\U0001F600\t"

// fullName returns an alias with a value in every field.
func fullName() *dibs.NameRecord {
	n := ownedName("full", dibs.Entity{Type: "type " + odd, ID: "id " + odd})
	n.Value, n.Profile, n.State, n.Epoch = odd, "profile/2", dibs.Alias, 1<<62
	n.Token, n.Principal, n.Intended = dibs.TokenHash{1, 2, 255}, odd+"principal", dibs.Entity{Type: odd + "t", ID: odd + "i"}
	n.CorrelationID, n.Meta, n.ExpiresAt = odd+"correlation", map[string]string{odd: odd + "meta"}, 1_900_000_000_001
	n.Asked, n.AskAt, n.Doubt, n.ConfirmedAt, n.EndedAt = 3, 1_900_000_000_002, odd+"doubt", 1_900_000_000_003, 1_900_000_000_004
	n.Line, n.Until, n.Established, n.Due = dibs.ID{7, 8, 9}, 1_900_000_000_005, true, 1_900_000_000_006
	n.Terms = dibs.Terms{Witnessed: true, Counted: true, Quarantine: time.Hour, HoldHistory: 2 * time.Hour}
	n.Links = []dibs.Link{{Kind: dibs.LinkSkeleton, ID: dibs.ID{1}}}
	n.Spent = []dibs.SpentToken{{Epoch: 1, Until: 1_900_000_000_007}}
	return n
}

// What is stored in one text is read as it was written, by the store and by the view that people
// read: each field in its own column, and NULL for what is not set.
func TestDetail(t *testing.T) {
	t.Parallel()
	r := newRig(t).open(pgstore.Config{})
	plain := freeName("plain")
	plain.CreatedAt = 0
	for _, n := range []*dibs.NameRecord{fullName(), heldName("held"), plain} {
		r.mustCommit(creating(n))
		loaded, err := r.store.Load(context.Background(), []dibs.Ref{n.Ref()})
		if err != nil || len(loaded.Records) != 1 || !reflect.DeepEqual(loaded.Records[0], n) {
			t.Errorf("%+v, %v, want %+v", loaded.Records, err, n)
		}
		row, err := sqlrow.NewRow(n)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range sqlrow.Names.Columns {
			got := ask[*string](r, fmt.Sprintf("SELECT %s::text FROM %s WHERE id = $1", c.Name, r.table("dibs_names")), [16]byte(n.ID))
			if want := shown(c.At(row)); (got == nil) != (want == nil) || got != nil && *got != *want {
				t.Errorf("%s of %s is %v, want %v", c.Name, n.Canonical, text(got), text(want))
			}
		}
	}
}

// shown is how psql shows a value: nil for NULL.
func shown(pointer any) *string {
	value := reflect.ValueOf(pointer).Elem()
	result := fmt.Sprint(value.Interface())
	switch v := pointer.(type) {
	case *bool: // never NULL
		return &result
	case *[]byte:
		result = `\x` + hex.EncodeToString(*v)
		if len(*v) == 0 {
			return nil
		}
	case *dibs.ID:
		result = hex.EncodeToString(v[:])
		result = strings.Join([]string{result[:8], result[8:12], result[12:16], result[16:20], result[20:]}, "-")
	}
	if value.IsZero() {
		return nil
	}
	return &result
}

func text(s *string) string {
	if s == nil {
		return "NULL"
	}
	return fmt.Sprintf("%q", *s)
}

// The columns of the view are those of a name, and where its history ends.
func TestViewHasEveryColumn(t *testing.T) {
	t.Parallel()
	r := rigOn(t, schemaFor(t))
	want := map[string]bool{"stamp": true, "last_batch": true, "last_ord": true}
	for _, c := range sqlrow.Names.Columns {
		want[c.Name] = true
	}
	for _, name := range ask[[]string](r, "SELECT array_agg(column_name::text) FROM information_schema.columns WHERE table_schema = $1 AND table_name = 'dibs_names'", r.schema) {
		if !want[name] {
			t.Errorf("unexpected column %s", name)
		}
		delete(want, name)
	}
	for name := range want {
		t.Errorf("no column %s", name)
	}
}

// A damaged text is an error that says what is damaged.
func TestDamagedDetail(t *testing.T) {
	t.Parallel()
	r := newRig(t).open(pgstore.Config{})
	r.mustCommit(reserving("a"))
	for damaged, want := range map[string]string{
		"\texact/1\treserved\tone":                               "epoch",
		"\texact/1\treserved\t1\t1\t\t\t\t1.5":                   "quarantine_ms",
		"\texact/1\treserved" + strings.Repeat("\t", 20) + "xyz": "line",
	} {
		r.exec("UPDATE "+r.table("dibs_name_rows")+" SET detail = $1", damaged)
		_, err := r.store.Load(context.Background(), []dibs.Ref{heldName("a").Ref()})
		if err == nil || !strings.Contains(err.Error(), "field "+want) {
			t.Errorf("%q: %v, want an error about %s", damaged, err, want)
		}
	}
}

// The database refuses a row whose state contradicts the reservation's status, its owner or its dates.
func TestInconsistentRows(t *testing.T) {
	t.Parallel()
	r := newRig(t).open(pgstore.Config{})
	held, owned := heldName("held"), ownedName("owned", user("1"))
	r.mustCommit(creating(held), creating(owned))
	for _, change := range []string{
		`state = 'free'`, `state = 'lost'`, `state = 'suspect'`, `detail = replace(detail, 'reserved', 'confirmed')`, `detail = replace(detail, 'reserved', 'reserve')`,
		`detail = ''`, `owner = id`, `token = NULL`, `expires_at = NULL`,
	} {
		if _, err := r.direct.Exec(context.Background(), "UPDATE "+r.table("dibs_name_rows")+" SET "+change+" WHERE state = 'held'"); err == nil || !strings.Contains(err.Error(), "dibs_names_consistent") {
			t.Errorf("%s: %v, want a violation of dibs_names_consistent", change, err)
		}
	}
	if _, err := r.direct.Exec(context.Background(), "UPDATE "+r.table("dibs_name_rows")+" SET owner = NULL WHERE state = 'active'"); err == nil {
		t.Error("an active name has no owner")
	}
}
