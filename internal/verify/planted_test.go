package verify_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/extsort"
	"github.com/calldibs/dibs/internal/snapshot"
	"github.com/calldibs/dibs/internal/verify"
	"github.com/calldibs/dibs/memstore"
	"github.com/calldibs/dibs/storetest"
)

// lived returns a memory store after a full life, with its clock.
func lived(t testing.TB) (*memstore.Store, *storetest.Clock) {
	t.Helper()
	clock := storetest.NewClock(time.UnixMilli(1_800_000_000_000))
	store := memstore.New(memstore.Config{Now: clock.Now})
	registry := open(t, store)
	live(t, registry)
	clock.Advance(2 * time.Second)
	if _, err := registry.Sweep(t.Context(), 100); err != nil {
		t.Fatal(err)
	}
	return store, clock
}

// damage is one fault of a store. It must be found by a check, and named, and by no other checks than
// those that are listed: a finding that says nothing new hides the others.
type damage struct {
	what  string
	plant func(p *planted)
	found []string // "check where", in any order
}

var damages = []damage{
	{"a damaged file", func(p *planted) { p.file = []string{"row 7 missing from index dibs_names_key"} }, []string{"file the file"}},
	{"a wrong checksum of a name", func(p *planted) { p.broken = append(p.broken, p.name("slug", "ann")) }, []string{"damaged slug:ann"}},
	{"a wrong checksum of an entity", func(p *planted) { p.broken = append(p.broken, p.entity("ann")) }, []string{"damaged user/ann"}},
	{"a wrong checksum of a document", func(p *planted) { p.broken = append(p.broken, p.document(dibs.KindQuota, "slug/")) }, []string{"damaged quota slug/robot"}},
	{"a wrong checksum of a name that cannot be told", func(p *planted) {
		p.name("slug", "given-up").ID[0]++
		p.broken = append(p.broken, p.name("slug", "given-up"))
	}, []string{"damaged row ", "name-id slug:given-up", "history slug:given-up", "orphan-event slug:given-up"}},
	{"a wrong checksum of an event", func(p *planted) { p.broken = append(p.broken, p.event("slug", "ann", dibs.EventClaimed)) }, []string{"damaged slug:ann"}},

	{"another id of a row", func(p *planted) { p.name("slug", "given-up").ID[0]++ }, []string{
		"name-id slug:given-up", "history slug:given-up", "orphan-event slug:given-up",
	}},
	{"a scope that is not that of the namespace", func(p *planted) { p.name("slug", "released").Scope = "acme" }, []string{"name-id slug:released"}},
	{"a second row of a name", func(p *planted) {
		twin := *p.name("slug", "given-up")
		twin.ID[0]++
		p.records[snapshot.Names] = append(p.records[snapshot.Names], &twin)
		p.counts = append(p.counts, dibs.NameCount{Namespace: "slug", State: dibs.Quarantined, Count: 1})
	}, []string{"name-id slug:given-up", "two-rows slug:given-up", "history slug:given-up"}},
	{"a status that contradicts the state", func(p *planted) { p.name("slug", "given-up").Status = dibs.StatusReserved }, []string{
		"state slug:given-up", "replay slug:given-up",
	}},
	{"an unknown state", func(p *planted) {
		p.name("slug", "released").State = "lost"
		p.counts = append(p.counts, dibs.NameCount{Namespace: "slug", State: "lost", Count: 1})
	}, []string{"state slug:released", "replay slug:released", "due slug:released"}},
	{"a hold without a token", func(p *planted) { p.name("slug", "held").Token = dibs.TokenHash{} }, []string{"state slug:held"}},
	{"an owned name that would be purged", func(p *planted) { p.name("slug", "ann").Established = false }, []string{"state slug:ann"}},
	{"a due date that is lost", func(p *planted) { p.name("slug", "held").Due = 0 }, []string{"due slug:held"}},
	{"a due date that is late", func(p *planted) { p.name("slug", "given-up").Due++ }, []string{"due slug:given-up"}},
	{"a value of another name", func(p *planted) { p.name("username", "ann").Value = "Other" }, []string{
		"canonical username:ann", "replay username:ann",
	}},
	{"a value that no profile accepts", func(p *planted) { p.name("username", "ann").Value = "no name!" }, []string{
		"canonical username:ann", "replay username:ann",
	}},
	{"a row of another profile", func(p *planted) { p.name("username", "ann").Profile = "old/1" }, []string{"canonical username:ann"}},
	{"a tombstone with an owner", func(p *planted) { p.name("username", "\x7f").Principal = "robot" }, []string{"tombstone username:(forgotten)"}},
	{"a token of a later epoch", func(p *planted) {
		n := p.name("slug", "released")
		n.Spent = []dibs.SpentToken{{Epoch: n.Epoch, End: 'r'}}
	}, []string{"spent slug:released"}},
	{"too many spent tokens", func(p *planted) { p.name("slug", "released").Spent = make([]dibs.SpentToken, 17) }, []string{"spent slug:released"}},
	{"a moved row that is in use", func(p *planted) {
		n := p.name("slug", "ann")
		n.Links = append(slices.Clip(n.Links), dibs.Link{Kind: dibs.LinkMovedTo, ID: dibs.ID{1}})
	}, []string{"moved slug:ann"}},
	{"another id of an entity", func(p *planted) { p.entity("emil").ID[0]++ }, []string{"entity-id user/emil"}},
	{"an entity that is archived and deleted", func(p *planted) { p.entity("ida").Deleted = true }, []string{
		"entity user/ida", "entity user/ida", "owner slug:archived", "entity-replay user/ida",
	}},
	{"an entity that is due for no reason", func(p *planted) { p.entity("ann").Due = 1 }, []string{"entity user/ann"}},
	{"another id of a quota", func(p *planted) { p.document(dibs.KindQuota, "slug/").ID[0]++ }, []string{"document-id quota slug/robot"}},
	{"another label of an index", func(p *planted) { p.document(dibs.KindSkeleton, "username:").Label += "x" }, []string{"document-id skeleton username:"}},
	{"a document that cannot be read", func(p *planted) { p.document(dibs.KindNamespace, "tag").Data = []byte("{") }, []string{"document-data floor tag"}},
	{"other rules on record", func(p *planted) {
		d := p.document(dibs.KindNamespace, "tag")
		d.Data = []byte(strings.Replace(string(d.Data), "exact/1", "other/1", 1))
	}, []string{"rules tag"}},

	{"an owner without a record", func(p *planted) { p.remove(p.entity("fay")) }, []string{"owner slug:passed-on", "active slug:passed-on"}},
	{"an alias without an owner", func(p *planted) { // its active name went with it
		p.remove(p.entity("nia"))
		p.remove(p.name("slug", "imported"))
		p.removeEvents(func(e *dibs.Event) bool { return e.Canonical == "imported" })
		p.counts = append(p.counts, dibs.NameCount{Namespace: "slug", State: dibs.Active, Count: -1})
	}, []string{"owner slug:old-nia"}},
	{"a name of a deleted entity", func(p *planted) {
		p.entity("ann").Deleted = true
		p.entity("ann").Active = nil
	}, []string{
		"owner slug:ann", "owner tag:red", "owner tag:blue", "owner tag:green", "owner username:ann", "owner email:k1.",
		"active slug:ann", "active tag:red", "active tag:green", "active username:ann", "active email:k1.", "entity-replay user/ann",
	}},
	{"an active name that its owner does not list", func(p *planted) { p.entity("carl").Active = nil }, []string{"active slug:confirmed"}},
	{"an active name of another owner", func(p *planted) { p.name("slug", "confirmed").Owner = user("ann") }, []string{
		"active slug:confirmed", "active slug:confirmed", "one-active slug:confirmed", "replay slug:confirmed",
	}},
	{"an entity that lists a name without a row", func(p *planted) { p.entity("emil").Active = map[string]dibs.ID{"slug": {1}} }, []string{"active user/emil"}},
	{"two active names of one entity", func(p *planted) {
		n := p.name("slug", "old-bob")
		n.State, n.Until, n.Due = dibs.Active, 0, 0
		p.event("slug", "old-bob", dibs.EventDemoted).After = dibs.Snapshot{State: dibs.Active, Status: n.Status, Epoch: n.Epoch, Entity: n.Owner}
		p.counts = append(p.counts, dibs.NameCount{Namespace: "slug", State: dibs.Alias, Count: -1}, dibs.NameCount{Namespace: "slug", State: dibs.Active, Count: 1})
	}, []string{"one-active slug:old-bob", "active slug:old-bob", "event-step slug:old-bob"}},

	{"an index of look-alikes without a name", func(p *planted) { p.document(dibs.KindSkeleton, "username:").Data = []byte(`{"names":[]}`) }, []string{"look-alikes username:"}},
	{"a name that does not lead to its index", func(p *planted) { p.name("username", "bob_b").Links = nil }, []string{"look-alikes username:bob_b"}},
	{"a lost index of blind keys", func(p *planted) {
		p.remove(p.document(dibs.KindHash, "email:"+p.blind().Canonical))
	}, []string{"blind-keys email:k1."}},
	{"a blind name without its hash", func(p *planted) { p.blind().Links = nil }, []string{"blind-keys email:k1."}},
	{"an index that leads to no row", func(p *planted) {
		d := p.document(dibs.KindSkeleton, "username:")
		d.Data = []byte(strings.Replace(string(d.Data), `"names":[`, `"names":["`+dibs.ID{1}.String()+`",`, 1))
	}, []string{"index-entry skeleton username:"}},
	{"an index that leads to another namespace", func(p *planted) {
		d := p.document(dibs.KindSkeleton, "username:")
		d.Data = []byte(strings.Replace(string(d.Data), `"names":[`, `"names":["`+p.name("slug", "ann").ID.String()+`",`, 1))
	}, []string{"index-entry slug:ann"}},
	{"a quota that forgot its holds", func(p *planted) { p.document(dibs.KindQuota, "slug/").Data = []byte(`{}`) }, []string{"quota slug:held"}},
	{"a quota that forgot a suspect", func(p *planted) { p.remove(p.document(dibs.KindQuota, "order/")) }, []string{"quota order:held", "quota order:lapsed"}},
	{"a quota that counts a name that is owned", func(p *planted) {
		d := p.document(dibs.KindQuota, "slug/")
		d.Data = []byte(strings.Replace(string(d.Data), `"holds":[`, `"holds":[{"id":"`+p.name("slug", "ann").ID.String()+`"},`, 1))
	}, []string{"quota slug:ann"}},
	{"a quota that counts a hold without a row", func(p *planted) {
		d := p.document(dibs.KindQuota, "slug/")
		d.Data = []byte(strings.Replace(string(d.Data), `"holds":[`, `"holds":[{"id":"`+dibs.ID{1}.String()+`"},`, 1))
	}, []string{"quota quota slug/robot"}},
	{"a quota with another end", func(p *planted) {
		n := p.name("slug", "held")
		n.ExpiresAt, n.Due = n.ExpiresAt+1, n.Due+1
		p.event("slug", "held", dibs.EventReserved).After.Until++
	}, []string{"quota slug:held"}},
	{"a namespace without its record", func(p *planted) { p.remove(p.document(dibs.KindNamespace, "tag")) }, []string{"namespace-record tag"}},
	{"a wrong count", func(p *planted) {
		p.counts = append(p.counts, dibs.NameCount{Namespace: "tag", State: dibs.Active, Count: 1})
	}, []string{"counts tag"}},

	{"a name without a history", func(p *planted) {
		p.removeEvents(func(e *dibs.Event) bool { return e.Namespace == "slug" && e.Canonical == "ann" })
	}, []string{"history slug:ann"}},
	{"a lost row", func(p *planted) {
		p.remove(p.name("slug", "given-up"))
		p.counts = append(p.counts, dibs.NameCount{Namespace: "slug", State: dibs.Quarantined, Count: -1})
	}, []string{"orphan-event slug:given-up"}},
	{"a lost row of an owner", func(p *planted) {
		p.remove(p.name("slug", "ann"))
		p.counts = append(p.counts, dibs.NameCount{Namespace: "slug", State: dibs.Active, Count: -1})
	}, []string{"orphan-event slug:ann", "active user/ann"}},
	{"an event with another name", func(p *planted) { p.event("slug", "ann", dibs.EventClaimed).Canonical = "other" }, []string{"event-name slug:ann"}},
	{"events in another order", func(p *planted) {
		a, b := p.event("slug", "held", dibs.EventReserved), p.event("slug", "confirmed", dibs.EventExtended)
		a.Rev, b.Rev = 100, 1
	}, []string{"event-order slug:held", "event-order slug:confirmed"}},
	{"a row that is older than its events", func(p *planted) { p.name("slug", "bob").Rev = 1 }, []string{"event-order slug:bob"}},
	{"an epoch that went back", func(p *planted) {
		p.name("slug", "passed-on").Epoch = 1
		e := p.event("slug", "passed-on", dibs.EventTransferred)
		e.Epoch, e.After.Epoch = 1, 1
	}, []string{"epoch slug:passed-on"}},
	{"a row whose epoch went back", func(p *planted) { p.name("slug", "passed-on").Epoch = 1 }, []string{"replay slug:passed-on"}},
	{"a lost event", func(p *planted) {
		p.removeEvents(func(e *dibs.Event) bool { return e.Canonical == "confirmed" && e.Kind == dibs.EventExtended })
	}, []string{"history-gap slug:confirmed"}},
	{"a lost beginning", func(p *planted) {
		p.removeEvents(func(e *dibs.Event) bool { return e.Canonical == "confirmed" && e.Kind == dibs.EventReserved })
	}, []string{"history-gap slug:confirmed"}},
	{"a lost end", func(p *planted) {
		p.removeEvents(func(e *dibs.Event) bool { return e.Canonical == "confirmed" && e.Kind == dibs.EventConfirmed })
	}, []string{"replay slug:confirmed"}},
	{"an event of another kind", func(p *planted) { p.event("slug", "ann", dibs.EventClaimed).Kind = dibs.EventReserved }, []string{"event-step slug:ann"}},
	{"an event of no kind", func(p *planted) { p.event("slug", "ann", dibs.EventClaimed).Kind = "eaten" }, []string{"event-step slug:ann"}},
	{"another owner than in the history", func(p *planted) { // as if a row had been changed by hand, with its entities
		n := p.name("slug", "confirmed")
		p.entity("emil").Active, p.entity("carl").Active = p.entity("carl").Active, nil
		n.Owner = user("emil")
	}, []string{"replay slug:confirmed"}},
	{"another spelling than in the history", func(p *planted) { p.name("username", "ann").Value = "ANN" }, []string{"replay username:ann"}},
	{"an entity that was archived by hand", func(p *planted) { p.entity("ann").Archived = true }, []string{"entity-replay user/ann"}},
	{"an entity that was restored by hand", func(p *planted) { p.entity("ida").Archived = false }, []string{"entity-replay user/ida"}},
	{"an entity whose deletion was undone by hand", func(p *planted) { p.entity("kim").Deleted = false }, []string{"entity-replay user/kim"}},
	{"an entity of an older version", func(p *planted) { p.entity("bob").Rev = 1 }, []string{"entity-replay user/bob"}},
}

// blind returns the row of a name in the blind namespace that was not forgotten.
func (p *planted) blind() *dibs.NameRecord {
	for _, r := range p.records[snapshot.Names] {
		if n := r.(*dibs.NameRecord); n.Namespace == "email" && n.State == dibs.Active {
			return n
		}
	}
	p.t.Fatal("no row of email")
	return nil
}

// TestSound checks that a full life leaves nothing to find.
func TestSound(t *testing.T) {
	t.Parallel()
	store, clock := lived(t)
	for _, later := range []time.Duration{0, 90 * time.Minute, 100 * 24 * time.Hour} { // holds, quarantines and aliases end, unswept
		clock.Advance(later)
		moment := read(t, store)
		list, report := findings(t, moment, verify.Options{})
		if len(list) > 0 {
			t.Errorf("after %s: %s", later, strings.Join(list, "\n"))
		}
		if report.Names != len(moment.records[snapshot.Names]) || report.Events != len(moment.events) || report.Names < 20 {
			t.Errorf("%+v: not all were read", report)
		}
	}
}

// TestSoundAfterPurges checks that nothing is to find when tombstones are gone, with the events that said that
// something was forgotten.
func TestSoundAfterPurges(t *testing.T) {
	t.Parallel()
	store, clock := lived(t)
	registry := open(t, store)
	isForgotten := func(e dibs.Event) bool { return e.Kind == dibs.EventForgotten }
	for days := 0; slices.ContainsFunc(read(t, store).events, isForgotten); days += 10 {
		if days > 400 {
			t.Fatal("no tombstone is ever purged")
		}
		clock.Advance(10 * 24 * time.Hour)
		if _, err := registry.Sweep(t.Context(), 1000); err != nil {
			t.Fatal(err)
		}
	}
	if list, _ := findings(t, read(t, store), verify.Options{}); len(list) > 0 {
		t.Error(strings.Join(list, "\n"))
	}
}

// TestDamages plants each damage into a store, and checks that it is found and named, and nothing
// else is.
func TestDamages(t *testing.T) {
	t.Parallel()
	store, _ := lived(t)
	for _, d := range damages {
		t.Run(strings.ReplaceAll(d.what, " ", "-"), func(t *testing.T) {
			t.Parallel()
			moment := read(t, store)
			d.plant(moment)
			list, report := findings(t, moment, verify.Options{})
			if !sameFindings(list, d.found) {
				t.Errorf("found:\n  %s\nwant:\n  %s", strings.Join(list, "\n  "), strings.Join(d.found, "\n  "))
			}
			if report.Findings != len(list) {
				t.Errorf("the report counts %d findings, not %d", report.Findings, len(list))
			}
		})
	}
}

// sameFindings compares findings in any order. A wanted one may leave out the end.
func sameFindings(list, want []string) bool {
	list = slices.Clone(list)
	for _, w := range want {
		i := slices.IndexFunc(list, func(f string) bool { return strings.HasPrefix(f, w) })
		if i < 0 {
			return false
		}
		list = slices.Delete(list, i, i+1)
	}
	return len(list) == 0
}

// TestEveryCheckHasADamage checks that each check is known to find something.
func TestEveryCheckHasADamage(t *testing.T) {
	t.Parallel()
	found := map[string]bool{"part": true} // see TestWrongPart
	for _, d := range damages {
		for _, f := range d.found {
			check, _, _ := strings.Cut(f, " ")
			found[check] = true
		}
	}
	for _, check := range verify.Checks {
		if !found[check.ID] {
			t.Errorf("no damage is planted for %s: %s", check.ID, check.Promise)
		}
		delete(found, check.ID)
	}
	if len(found) > 0 {
		t.Errorf("unknown checks %v", slices.Collect(maps.Keys(found)))
	}
}

// TestWrongPart checks that a record in another store than its routes say is found.
func TestWrongPart(t *testing.T) {
	t.Parallel()
	store, _ := lived(t)
	list, _ := findings(t, read(t, store), verify.Options{InPart: func(scope string) bool { return scope == "" }})
	if !sameFindings(list, []string{"part floor acme.slug", "part user/ann in acme", "part acme.slug:ann"}) {
		t.Errorf("found %q", list)
	}
}

// TestDocumentation checks that the page has every check.
func TestDocumentation(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/verifying.md")
	if err != nil {
		t.Fatal(err)
	}
	links := strings.NewReplacer("A damaged record in docs/verifying.md", "[a damaged record](#a-damaged-record)")
	for _, check := range verify.Checks {
		when := map[bool]string{true: "**now**", false: "later"}[check.Urgent]
		if row := "| `" + check.ID + "` | " + check.Promise + " | " + when + " | " + links.Replace(check.Advice) + " |"; !strings.Contains(string(page), row) {
			t.Errorf("docs/verifying.md has no row\n%s", row)
		}
	}
}

// TestFactsOnDisk checks that a store whose facts do not fit into memory has the same findings.
func TestFactsOnDisk(t *testing.T) {
	t.Parallel()
	store, _ := lived(t)
	moment := read(t, store)
	if list, _ := findings(t, moment, verify.Options{Sorter: extsort.Sorter{Memory: 1000}}); len(list) > 0 {
		t.Errorf("found %q", list)
	}
	moment.entity("carl").Active = nil
	if list, _ := findings(t, moment, verify.Options{Sorter: extsort.Sorter{Memory: 1000}}); !sameFindings(list, []string{"active slug:confirmed"}) {
		t.Errorf("found %q", list)
	}
}

// TestStops checks that a run ends with the error of the store, of the caller, and of its context.
func TestStops(t *testing.T) {
	t.Parallel()
	store, _ := lived(t)
	moment := read(t, store)
	moment.entity("carl").Active = nil
	full := errors.New("the disk is full")
	if _, err := verify.Store(t.Context(), moment, verify.Options{Found: func(verify.Finding) error { return full }}); !errors.Is(err, full) {
		t.Errorf("an error of Found: %v", err)
	}
	if _, err := verify.Store(t.Context(), moment, verify.Options{Sorter: extsort.Sorter{Memory: 100, Folder: t.TempDir() + "/none"}}); err == nil {
		t.Error("a folder that is not there is no error")
	}
	view, err := snapshot.Take(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := verify.Store(ctx, view, verify.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
}
