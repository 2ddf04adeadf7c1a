package sqlitestore

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/calldibs/dibs"
)

func TestConstraints(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "names.db")
	s := openTest(t, path, Config{})
	owner := dibs.Entity{Type: "user", ID: "1"}
	mustCommit(t, s, insertGroup(heldName("held")), insertGroup(activeName("active", owner)),
		insertGroup(activeName("other", dibs.Entity{Type: "user", ID: "2"})))
	cases := map[string]string{
		"two active names":       `UPDATE dibs_names SET owner = (SELECT owner FROM dibs_names WHERE canonical = 'active') WHERE canonical = 'other'`,
		"two rows for a name":    `UPDATE dibs_names SET canonical = 'held' WHERE canonical = 'active'`,
		"unknown state":          `UPDATE dibs_names SET state = 'lost'`,
		"unknown status":         `UPDATE dibs_names SET status = 'lost'`,
		"held and confirmed":     `UPDATE dibs_names SET status = 'confirmed' WHERE state = 'held'`,
		"active and reserved":    `UPDATE dibs_names SET status = 'reserved' WHERE state = 'active'`,
		"free and reserved":      `UPDATE dibs_names SET state = 'free' WHERE state = 'held'`,
		"active without owner":   `UPDATE dibs_names SET owner = NULL WHERE state = 'active'`,
		"active without type":    `UPDATE dibs_names SET owner_type = NULL WHERE state = 'active'`,
		"held with an owner":     `UPDATE dibs_names SET owner = id WHERE state = 'held'`,
		"hold without end":       `UPDATE dibs_names SET expires_at = NULL WHERE state = 'held'`,
		"hold without token":     `UPDATE dibs_names SET token = NULL WHERE state = 'held'`,
		"quarantine without end": `UPDATE dibs_names SET state = 'quarantined', status = 'expired' WHERE state = 'held'`,
		"short id":               `UPDATE dibs_names SET id = x'00'`,
		"epoch 0":                `UPDATE dibs_names SET epoch = 0`,
		"revision 0":             `UPDATE dibs_names SET rev = 0`,
		"text for a date":        `UPDATE dibs_names SET due = 'tomorrow'`,
		"many is 2":              `UPDATE dibs_names SET many = 2`,
		"short entity id":        `INSERT INTO dibs_entities VALUES (x'00', 1, '', 'user', '1', 0, 0, NULL, NULL, NULL)`,
		"event of a short id":    `INSERT INTO dibs_events (kind, at, id, rev, body) VALUES ('x', 1, x'00', 1, x'')`,
	}
	for name, script := range cases {
		if err := runSQL(t, path, script); err == nil || !strings.Contains(err.Error(), "constraint") {
			t.Errorf("%s: got %v, want a refusal", name, err)
		}
	}
}

// Only the scripts that are missing run, and a build that does not know the last one refuses the
// file.
func TestLaterMigration(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "names.db")
	s := openTest(t, path, Config{})
	mustCommit(t, s, insertGroup(heldName("held")))
	conn := s.writer.another()
	defer conn.close()
	scripts := append(slices.Clone(migrations), "ALTER TABLE dibs_names ADD COLUMN later TEXT")
	for range 2 {
		if err := migrate(ctx, conn, scripts, false, s.instant); err != nil {
			t.Fatal(err)
		}
	}
	if version, err := readInt(ctx, conn, selectVersion); err != nil || version != int64(len(scripts)) {
		t.Errorf("version %d, %v, want %d", version, err, len(scripts))
	}
	if found := mustLoad(t, s, heldName("held").Ref()); len(found) != 1 {
		t.Error("the name is gone")
	}
	if _, err := Open(ctx, path, Config{}); !errors.Is(err, ErrNewerSchema) {
		t.Errorf("%v, want ErrNewerSchema", err)
	}
}

// A store of the first version gets the index from which held names are listed, and keeps its names.
func TestMigrationOfHolds(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "names.db")
	old := &session{connector: connector(dsn(path, Config{}))}
	if err := migrate(ctx, old, migrations[:1], false, func() dibs.Instant { return testNow }); err != nil {
		t.Fatal(err)
	}
	if err := old.script(ctx, fillNames); err != nil {
		t.Fatal(err)
	}
	if err := old.close(); err != nil {
		t.Fatal(err)
	}
	s := openTest(t, path, Config{})
	held, err := s.List(ctx, dibs.ListQuery{Kind: dibs.KindName, States: []dibs.State{dibs.Held}, Limit: 100})
	if err != nil || len(held) != 40 || !slices.IsSortedFunc(held, func(a, b dibs.Record) int {
		x, y := a.(*dibs.NameRecord), b.(*dibs.NameRecord)
		return strings.Compare(x.Namespace+x.Canonical, y.Namespace+y.Canonical)
	}) {
		t.Errorf("%d held names, %v", len(held), err)
	}
	err = s.read(ctx, func(run runner) error {
		_, err := readInt(ctx, run, newStatement(`SELECT count(namespace || canonical) FROM dibs_names INDEXED BY dibs_names_held WHERE state = 'held'`))
		return err
	})
	if state := pragma(t, s, "integrity_check"); err != nil || state != "ok" {
		t.Error(state, err)
	}
}

// A script that fails leaves the file as it was.
func TestFailedMigration(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "names.db")
	s := openTest(t, path, Config{})
	conn := s.writer.another()
	defer conn.close()
	scripts := append(slices.Clone(migrations), "ALTER TABLE dibs_names ADD COLUMN later TEXT", "no SQL")
	if err := migrate(ctx, conn, scripts, false, s.instant); err == nil {
		t.Fatal("the migration succeeded")
	}
	if version, err := readInt(ctx, conn, selectVersion); err != nil || version != int64(len(migrations)) {
		t.Errorf("version %d, %v, want %d", version, err, len(migrations))
	}
	openTest(t, path, Config{})
}

func TestSwapInEitherOrder(t *testing.T) {
	t.Parallel()
	for _, reversed := range []bool{false, true} {
		s := newTest(t)
		one, two := dibs.Entity{Type: "user", ID: "1"}, dibs.Entity{Type: "user", ID: "2"}
		a, b := activeName("a", one), activeName("b", two)
		mustCommit(t, s, insertGroup(a), insertGroup(b))
		swappedA, swappedB := *a, *b
		swappedA.Rev, swappedB.Rev = 2, 2
		swappedA.Owner, swappedB.Owner = two, one
		g := dibs.Group{
			Reads:  []dibs.Read{{Ref: a.Ref(), Rev: 1}, {Ref: b.Ref(), Rev: 1}},
			Writes: []dibs.Write{{Record: &swappedA, Yields: true}, {Record: &swappedB, Yields: true}},
		}
		if reversed {
			g.Writes[0], g.Writes[1] = g.Writes[1], g.Writes[0]
		}
		mustCommit(t, s, g)
		owned, err := s.Owned(context.Background(), "acme", one, 10)
		if err != nil || len(owned) != 1 || owned[0].Canonical != "b" {
			t.Errorf("reversed %v: %v %v", reversed, owned, err)
		}
	}
}

// A confirmed name with its entity and two events takes at most 650 bytes.
func TestBytesPerName(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes a while")
	}
	const count = 10_000
	s := newTest(t)
	for first := 0; first < count; first += 500 {
		var holds, confirms []dibs.Group
		for i := first; i < first+500; i++ {
			held := heldName(numbered(i))
			owner := dibs.Entity{Type: "user", ID: numbered(i)}
			n := activeName(held.Canonical, owner)
			n.Rev = 2
			e := &dibs.EntityRecord{
				ID: dibs.EntityID("acme", owner), Rev: 1, Scope: "acme", Entity: owner,
				Active: map[string]dibs.ID{n.Namespace: n.ID},
			}
			event := eventOf(dibs.EventConfirmed, n)
			event.Before, event.Version = eventOf("", held).After, 1
			holds = append(holds, insertGroup(held))
			confirms = append(confirms, dibs.Group{
				Reads:  []dibs.Read{{Ref: n.Ref(), Rev: 1}, {Ref: e.Ref()}},
				Writes: []dibs.Write{{Record: n}, {Record: e}},
				Events: []dibs.Event{event},
			})
		}
		mustCommit(t, s, holds...)
		mustCommit(t, s, confirms...)
	}
	each := asInt(pragma(t, s, "page_count")) * asInt(pragma(t, s, "page_size")) / count
	t.Logf("%d bytes per confirmed name", each)
	if each > 650 {
		t.Errorf("%d bytes per confirmed name, want 650 at most", each)
	}
}
