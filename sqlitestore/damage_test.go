package sqlitestore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/core"
	"github.com/calldibs/dibs/sqlitestore"
)

// damages are what disks, crashes and other programs do to a file.
var damages = []struct {
	name string
	do   func(file []byte, random *rand.Rand) []byte
}{
	{"a flipped bit", func(file []byte, random *rand.Rand) []byte {
		file[random.IntN(len(file))] ^= 1 << random.IntN(8)
		return file
	}},
	{"eight flipped bits", func(file []byte, random *rand.Rand) []byte {
		for range 8 {
			file[random.IntN(len(file))] ^= 1 << random.IntN(8)
		}
		return file
	}},
	{"a changed letter", func(file []byte, random *rand.Rand) []byte {
		letters := [][]byte{[]byte("entity-"), []byte("name-"), []byte("user"), []byte("acme.")}
		text := letters[random.IntN(len(letters))]
		at := random.IntN(len(file))
		if i := bytes.Index(file[at:], text); i >= 0 {
			file[at+i+random.IntN(len(text))] ^= 1
		}
		return file
	}},
	{"zeros in a sector", func(file []byte, random *rand.Rand) []byte {
		sector := random.IntN(len(file)/512) * 512
		clear(file[sector : sector+512])
		return file
	}},
	{"an old half of a page", func(file []byte, random *rand.Rand) []byte {
		const page = 2048
		pages := len(file) / page
		from, to := random.IntN(pages)*page, random.IntN(pages)*page
		copy(file[to+page/2:to+page], file[from+page/2:from+page])
		return file
	}},
	{"a missing end", func(file []byte, random *rand.Rand) []byte {
		return file[:random.IntN(len(file))]
	}},
}

const damagedNames = 60

func damagedName(i int) string { return fmt.Sprintf("name-%02d", i) }
func damagedEntity(i int) dibs.Entity {
	return dibs.Entity{Type: "user", ID: fmt.Sprintf("entity-%02d", i)}
}
func damagedClock() time.Time           { return time.UnixMilli(1_800_000_000_000) }
func damagedConfig() sqlitestore.Config { return sqlitestore.Config{Now: damagedClock} }

// makeSound makes a file with names in all states, and histories.
func makeSound(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "names.db")
	reg := openDamaged(t, path)
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range damagedNames {
		claim := dibs.Claim{Namespace: "acme.slug", Value: damagedName(i), Entity: damagedEntity(i)}
		switch i % 5 {
		case 0:
			_, err := reg.Reserve(ctx, dibs.Reserve{Namespace: claim.Namespace, Value: claim.Value, Entity: claim.Entity, Meta: map[string]string{"order": "17"}})
			must(err)
			continue
		case 1:
			_, err := reg.Claim(ctx, claim)
			must(err)
			_, err = reg.Decommission(ctx, dibs.Decommission{Namespace: claim.Namespace, Value: claim.Value, Entity: claim.Entity})
			must(err)
			continue
		case 2:
			_, err := reg.Claim(ctx, claim)
			must(err)
			_, err = reg.Rename(ctx, dibs.Rename{Namespace: claim.Namespace, Value: claim.Value + "-later", Entity: claim.Entity})
			must(err)
			continue
		}
		_, err := reg.Claim(ctx, claim)
		must(err)
	}
	must(reg.Close())
	file, err := os.ReadFile(path)
	must(err)
	return file
}

func openDamaged(t *testing.T, path string) *dibs.Registry {
	t.Helper()
	store, err := sqlitestore.Open(context.Background(), path, damagedConfig())
	if err != nil {
		t.Fatal(err)
	}
	reg, err := core.Open(store, dibs.Config{SweepEvery: -1})
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

// readAll returns what callers read of a file, by question. Questions that are refused because of
// damage have no answer.
func readAll(reg *dibs.Registry) (answers map[string]string, refused int) {
	ctx := context.Background()
	answers = make(map[string]string)
	note := func(question string, answer any, err error) {
		if e, ok := errors.AsType[*dibs.Error](err); ok && e.Code == dibs.CodeUnavailable {
			refused++
			return
		}
		answers[question] = fmt.Sprintf("%+v %v", answer, err)
	}
	for i := range damagedNames {
		for _, value := range []string{damagedName(i), damagedName(i) + "-later"} {
			n, err := reg.Get(ctx, dibs.Lookup{Namespace: "acme.slug", Value: value, Version: true})
			note("get "+value, n, err)
			r, err := reg.Resolve(ctx, "acme.slug", value)
			if r.To != nil {
				note("resolve to "+value, *r.To, err)
				r.To = nil
			}
			note("resolve "+value, r, err)
			h, err := reg.History(ctx, "acme.slug", value)
			note("history "+value, h, err)
		}
		e, err := reg.Entity(ctx, "acme", damagedEntity(i))
		note("entity "+damagedEntity(i).ID, e, err)
	}
	l, err := reg.List(ctx, dibs.NamesQuery{Namespace: "acme.slug", Limit: 1000})
	note("list", l, err)
	f, err := reg.Events(ctx, dibs.FeedQuery{Limit: 1000})
	f.Generation = 0 // of this process
	note("feed", f, err)
	return answers, refused
}

// TestDamageIsNotServed damages a file in many ways. Each is refused by Open, or every answer is right, or
// the damage is named.
func TestDamageIsNotServed(t *testing.T) {
	t.Parallel()
	sound := makeSound(t)
	path := filepath.Join(t.TempDir(), "sound.db")
	if err := os.WriteFile(path, sound, 0o600); err != nil {
		t.Fatal(err)
	}
	reg := openDamaged(t, path)
	want, none := readAll(reg)
	if err := reg.Close(); err != nil || none > 0 {
		t.Fatal(none, err)
	}
	each := 15
	switch {
	case os.Getenv("DIBS_TEST_LONG") != "":
		each = 60
	case testing.Short():
		each = 5
	}
	for _, d := range damages {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			refused, named, harmless := 0, 0, 0
			folder := t.TempDir()
			for seed := range uint64(each) {
				path := filepath.Join(folder, fmt.Sprint(seed, ".db"))
				if err := os.WriteFile(path, d.do(bytes.Clone(sound), rand.New(rand.NewPCG(seed, 1))), 0o600); err != nil {
					t.Fatal(err)
				}
				store, err := sqlitestore.Open(context.Background(), path, damagedConfig())
				if err != nil {
					refused++
					continue
				}
				reg, err := core.Open(store, dibs.Config{SweepEvery: -1})
				if err != nil {
					t.Fatal(err)
				}
				got, damaged := readAll(reg)
				_ = reg.Close() // it may report the damage again
				for question, answer := range got {
					if answer != want[question] {
						t.Errorf("seed %d: %s: got\n%s\nwant\n%s", seed, question, answer, want[question])
						break
					}
				}
				if damaged > 0 {
					named++
				} else {
					harmless++
				}
			}
			t.Logf("%d refused by Open, %d with named damage, %d harmless", refused, named, harmless)
		})
	}
}

// readFeed reads the event behind each cursor alone, so that a damaged one does not hide the others.
func readFeed(reg *dibs.Registry, cursors []dibs.Cursor) (events map[dibs.Cursor]string, refused int) {
	events = make(map[dibs.Cursor]string)
	for _, after := range cursors {
		page, err := reg.Events(context.Background(), dibs.FeedQuery{After: after, Limit: 1})
		if err != nil {
			refused++
		}
		for _, e := range page.Events {
			events[e.Cursor] = fmt.Sprintf("%+v", e)
		}
	}
	return events, refused
}

// TestDamageWhileOpen damages a file after Open has checked it, as it would be if the file were
// large. A record or an event is then right, refused, or missing if an index lost it; it is never wrong.
func TestDamageWhileOpen(t *testing.T) {
	t.Parallel()
	sound := makeSound(t)
	path := filepath.Join(t.TempDir(), "sound.db")
	if err := os.WriteFile(path, sound, 0o600); err != nil {
		t.Fatal(err)
	}
	reg := openDamaged(t, path)
	all, err := reg.Events(t.Context(), dibs.FeedQuery{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	cursors := []dibs.Cursor{""}
	for _, e := range all.Events[:len(all.Events)-1] {
		cursors = append(cursors, e.Cursor)
	}
	feed, none := readFeed(reg, cursors)
	if err := reg.Close(); err != nil || none > 0 || len(feed) < damagedNames {
		t.Fatal(len(feed), none, err)
	}
	wrong, refused, missing, refusedEvents := 0, 0, 0, 0
	folder := t.TempDir()
	for seed := range uint64(4) {
		path := filepath.Join(folder, fmt.Sprint(seed, ".db"))
		if err := os.WriteFile(path, sound, 0o600); err != nil {
			t.Fatal(err)
		}
		reg := openDamaged(t, path)
		random := rand.New(rand.NewPCG(seed, 2))
		damaged := bytes.Clone(sound)
		for range 20 {
			damages[2*random.IntN(2)].do(damaged[4096:], random) // a bit or a letter, not in the schema
		}
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		for i := range damagedNames {
			n, err := reg.Get(context.Background(), dibs.Lookup{Namespace: "acme.slug", Value: damagedName(i)})
			switch e, _ := errors.AsType[*dibs.Error](err); {
			case err == nil:
				if n.Canonical != damagedName(i) || n.Entity != damagedEntity(i) || n.Epoch != 1 {
					wrong++
					t.Errorf("seed %d: %s is %+v", seed, damagedName(i), n)
				}
			case e.Code == dibs.CodeUnavailable:
				if refused++; e.Cause != dibs.CauseDamaged || !errors.Is(err, sqlitestore.ErrDamaged) && e.Cause == "" {
					t.Errorf("the cause is %q: %v", e.Cause, err)
				}
			default:
				missing++
			}
		}
		for i := range damagedNames {
			thief := dibs.Claim{Namespace: "acme.slug", Value: damagedName(i), Entity: dibs.Entity{Type: "user", ID: "thief"}}
			if _, err := reg.Claim(context.Background(), thief); err == nil && i%5 != 1 { // these were given up
				wrong++
				t.Errorf("seed %d: %s is given to another entity", seed, damagedName(i))
			}
		}
		events, unread := readFeed(reg, cursors)
		for cursor, e := range events {
			if was := feed[cursor]; e != was && was != "" { // the others are new
				wrong++
				t.Errorf("seed %d: event %s is\n%s\nand was\n%s", seed, cursor, e, was)
			}
		}
		refusedEvents += unread
		_ = reg.Close() // it may report the damage again
	}
	if refused == 0 || refusedEvents == 0 {
		t.Error("no damage was named")
	}
	t.Logf("%d wrong, %d names refused, %d missing; %d events refused", wrong, refused, missing, refusedEvents)
}
