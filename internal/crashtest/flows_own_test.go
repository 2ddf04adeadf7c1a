//go:build unix

package crashtest_test

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibsimport"
	"github.com/calldibs/dibs/internal/copier"
	"github.com/calldibs/dibs/internal/coretest"
)

// Flows that change names of entities. After a crash the same is done again.

var (
	ann = dibs.Entity{Type: "user", ID: "ann"}
	bob = dibs.Entity{Type: "user", ID: "bob"}
)

func slugs(*world) map[string]dibs.Policy {
	return map[string]dibs.Policy{"slug": {Quarantine: time.Hour}, "many": {ManyPerEntity: true, AliasRetention: time.Hour}}
}

// apply applies commands that must succeed.
func (w *world) apply(commands ...dibs.Command) []dibs.Result {
	w.Helper()
	return must[[]dibs.Result](w)(w.registry().Apply(w.ctx(), commands...))
}

func claim(namespace, value string, entity dibs.Entity) dibs.Claim {
	return dibs.Claim{Namespace: namespace, Value: value, Entity: entity}
}

func claimOld(w *world) { w.apply(claim("slug", "old", ann), claim("slug", "bobs", bob)) }

func rename(w *world) {
	w.apply(dibs.Rename{Namespace: "slug", Value: "new", Entity: ann})
	w.tell("done")
}

// renameHeld holds the new name first, as a form does.
func renameHeld(w *world) {
	hold, err := w.registry().Reserve(w.ctx(), dibs.Reserve{Namespace: "slug", Value: "new", Entity: ann, Token: token})
	if errors.Is(err, dibs.ErrAlreadyConfirmed) {
		return
	}
	w.check(err)
	w.save("order", "")
	w.apply(dibs.Rename{Namespace: "slug", Value: "new", Entity: ann, Token: hold.Token})
	w.tell("done")
}

// wantRenamed demands that the new name is Ann's, and that the old one leads there.
func wantRenamed(w *world) {
	w.Helper()
	w.wantOwned("slug", "new", ann)
	leads := must[dibs.Resolution](w)(w.registry().Resolve(w.ctx(), "slug", "old"))
	if leads.To == nil || leads.To.Canonical != "new" {
		w.Errorf("the old name leads to %+v", leads)
	}
}

// wantOneName demands that Ann has one active name, before the rename or after it.
func wantOneName(w *world) {
	w.Helper()
	oldName, newName := w.name("slug", "old"), w.name("slug", "new")
	renamed := newName.State == dibs.Active && oldName.State == dibs.Alias
	if !renamed && (oldName.State != dibs.Active || newName.State == dibs.Active) || w.told("done") && !renamed {
		w.Errorf("the old name is %s, the new one %s", oldName.State, newName.State)
	}
}

func transfer(w *world) {
	w.apply(dibs.Transfer{Namespace: "many", Value: "shop", From: ann, To: bob})
	w.tell("done")
}

func wantOneOwner(w *world) {
	w.Helper()
	n := w.name("many", "shop")
	if n.State != dibs.Active || n.Entity != bob && (n.Entity != ann || w.told("done")) {
		w.Errorf("the name is %s of %s", n.State, n.Entity)
	}
}

// batch is more than two of the batches in which the names of a deleted entity are given up.
const batch = 70

func manyValues() (values []string) {
	for i := range batch {
		values = append(values, fmt.Sprintf("name-%d", i))
	}
	return values
}

func claimMany(w *world) {
	for _, value := range manyValues() {
		w.apply(claim("many", value, ann))
	}
	w.apply(claim("slug", "old", ann), claim("many", "bobs", bob))
}

func deleteAll(w *world) {
	_, err := w.registry().Delete(w.ctx(), dibs.Delete{Entity: ann})
	w.check(err)
	w.tell("done")
	w.sweep()
}

// wantGone demands that no name resolves once the deletion was acknowledged, whether or not it is
// given up yet.
func wantGone(w *world) {
	w.Helper()
	if !w.told("done") {
		return
	}
	for _, value := range manyValues() {
		if r := must[dibs.Resolution](w)(w.registry().Resolve(w.ctx(), "many", value)); r.Outcome == dibs.ResolveActive {
			w.Errorf("%s still leads to %s", value, r.Entity)
		}
	}
}

func wantDeleted(w *world) {
	w.Helper()
	w.wantAllAvailable("many", manyValues())
	w.wantOwned("many", "bobs", bob)
}

// The sweeper finds holds that ended, with a witness and without, aliases, quarantines and a deleted
// entity that has names left, and rows that are old enough to be purged.

func sweepable(w *world) map[string]dibs.Policy {
	policies := map[string]dibs.Policy{"slug": {Quarantine: time.Minute, HoldHistory: time.Hour}, "many": {ManyPerEntity: true, AliasRetention: time.Minute}}
	policies["wedding"] = lookFor(w, "wedding")
	policies["order"] = lookFor(w, "order")
	return policies
}

func leaveBehind(w *world) {
	claimMany(w)
	for i := range 3 {
		w.apply(dibs.Reserve{Namespace: "slug", Value: fmt.Sprintf("hold-%d", i), Token: token, TTL: dibs.For(time.Minute)})
		w.apply(claim("slug", fmt.Sprintf("gone-%d", i), dibs.Entity{Type: "user", ID: fmt.Sprint(i)}))
		w.apply(dibs.Delete{Entity: dibs.Entity{Type: "user", ID: fmt.Sprint(i)}})
	}
	w.apply(dibs.Rename{Namespace: "many", From: "bobs", Value: "bobby", Entity: bob})
	w.apply(dibs.Reserve{Namespace: "wedding", Value: "alice-bob", Token: token, Entity: wedding})
	w.apply(dibs.Reserve{Namespace: "order", Value: "nine", Token: token, Entity: product})
	w.apply(dibs.Delete{Entity: ann})
}

func sweepAll(w *world) {
	w.save("wedding", "")
	w.sweep()
}

func wantSwept(w *world) {
	w.Helper()
	for i := range 3 {
		w.wantAvailable("slug", fmt.Sprintf("hold-%d", i))
		w.wantAvailable("slug", fmt.Sprintf("gone-%d", i))
	}
	w.wantOwned("wedding", "alice-bob", wedding)
	w.wantOwned("many", "bobby", bob)
	w.wantAvailable("order", "nine")
	w.wantAvailable("many", "bobs")
	w.wantAllAvailable("many", manyValues())
}

// The rules of a namespace change, and with them the canonical forms of most of its names.

func folding(w *world) map[string]dibs.Policy {
	if w.later == 0 {
		return map[string]dibs.Policy{"slug": {Profile: dibs.Exact}}
	}
	return map[string]dibs.Policy{"slug": {Profile: coretest.Lower{}, Skeleton: coretest.Digits{}}}
}

func claimMixed(w *world) {
	w.apply(claim("slug", "Ann", ann), claim("slug", "BOB", bob))
	w.apply(dibs.Rename{Namespace: "slug", Value: "ann", Entity: ann}) // the alias Ann becomes the same
	for i := range 5 {
		w.apply(claim("slug", fmt.Sprintf("User-%d", i), dibs.Entity{Type: "user", ID: fmt.Sprint(i)}))
	}
	w.apply(dibs.Reserve{Namespace: "slug", Value: "HELD", Token: token, TTL: dibs.For(time.Hour)})
}

func recanonicalize(w *world) {
	_, err := w.registry().Recanonicalize(w.ctx(), dibs.RecanonicalizeRequest{Namespace: "slug"})
	w.check(err)
}

func wantFolded(w *world) {
	w.Helper()
	w.wantOwned("slug", "ANN", ann)
	w.wantOwned("slug", "bob", bob)
	for i := range 5 {
		w.wantOwned("slug", fmt.Sprintf("user-%d", i), dibs.Entity{Type: "user", ID: fmt.Sprint(i)})
	}
	if n := w.name("slug", "held"); n.State != dibs.Held {
		w.Errorf("the held name is %s", n.State)
	}
	w.wantAvailable("slug", "another")
}

// Ann is forgotten: she has names, gave one up that Bob has now, and holds one.

func leaveTraces(w *world) {
	w.apply(claim("slug", "old", ann), claim("many", "ann-1", ann), claim("many", "ann-2", ann), claim("many", "shared", ann))
	w.apply(dibs.Rename{Namespace: "slug", Value: "new", Entity: ann})
	w.apply(dibs.Transfer{Namespace: "many", Value: "shared", From: ann, To: bob})
	w.apply(dibs.Archive{Entity: ann})
	w.apply(dibs.Restore{Entity: ann})
	w.apply(dibs.Reserve{Namespace: "slug", Value: "third", Token: token, Entity: ann, TTL: dibs.For(time.Hour)})
}

func forget(w *world) {
	_, err := w.registry().Forget(w.ctx(), dibs.ForgetRequest{Entity: ann, Scrub: w.site.Engine == "sqlite"})
	w.check(err)
}

func wantForgotten(w *world) {
	w.Helper()
	for _, line := range w.end["names"] {
		if strings.Contains(line, `"ann`) || strings.Contains(line, "third") {
			w.Errorf("there is still %s", line)
		}
	}
	w.wantOwned("many", "shared", bob)
}

// An import has several batches, rows that come last, and a row that is lost.

const imported = 1020

func csv() string {
	var text strings.Builder
	text.WriteString("value,entity_id,alias_of,archived,since\n")
	for i := range imported {
		fmt.Fprintf(&text, "name-%d,%d,,%v,2026-01-02T03:04:05Z\n", i, i, i%600 == 7)
	}
	text.WriteString("former-1,1,name-1,,2025-01-02T03:04:05Z\nformer-2,2,name-2,,2025-01-02T03:04:05Z\nname-3,4000,,,\n")
	return text.String()
}

func importNames(w *world) {
	options := dibsimport.Options{Mapping: dibsimport.Mapping{Namespace: "slug", EntityType: "user"}}
	report, err := dibsimport.Run(w.ctx(), w.registry(), dibsimport.CSV(strings.NewReader(csv())), options)
	w.check(err)
	if report.Imported+report.Unchanged != imported+2 || report.Lost != 1 {
		w.Errorf("the import ended with %+v", report)
	}
}

func wantImported(w *world) {
	w.Helper()
	w.wantOwned("slug", "name-1", dibs.Entity{Type: "user", ID: "1"})
	if r := must[dibs.Resolution](w)(w.registry().Resolve(w.ctx(), "slug", "former-1")); r.To == nil || r.To.Canonical != "name-1" {
		w.Errorf("the alias leads to %+v", r)
	}
	if e := must[dibs.EntityInfo](w)(w.registry().Entity(w.ctx(), "", dibs.Entity{Type: "user", ID: "607"})); !e.Archived {
		w.Error("user 607 is not archived")
	}
}

// A copy has several pages of events, and documents.

func quotas(*world) map[string]dibs.Policy {
	return map[string]dibs.Policy{"slug": {MaxHolds: 100, Skeleton: coretest.Digits{}}, "many": {ManyPerEntity: true}}
}

func fill(w *world) {
	claimMany(w)
	for range 100 { // the events of a page and more
		w.apply(dibs.Archive{Entity: bob}, dibs.Restore{Entity: bob})
	}
	w.apply(dibs.Reserve{Namespace: "slug", Value: "held", Token: token, TTL: dibs.For(time.Hour)})
}

func copyNames(w *world) {
	source, target := w.store("names"), w.store("copy")
	report, err := copier.Run(w.ctx(), source, target, copier.Options{From: "names", Place: "copy"})
	w.check(err)
	if report.Names != batch+3 || report.Events <= 250 {
		w.Errorf("the copy ended with %+v", report)
	}
}

func wantCopied(w *world) {
	w.Helper()
	if d := difference(w.end["copy"], w.end["names"]); d != "" {
		w.Errorf("the copy differs:\n%s", d)
	}
	if _, err := w.registry().Claim(w.ctx(), claim("slug", "late", bob)); !errors.Is(err, dibs.ErrUnavailable) {
		w.Errorf("the source still gives out names: %v", err)
	}
	w.close()
	w.reg = w.registryOn("copy")
	w.wantOwned("slug", "old", ann)
	w.wantAvailable("slug", "late")
	if _, err := w.registry().Confirm(w.ctx(), dibs.Confirm{ID: dibs.NameID("slug", "held"), Token: token, Entity: bob}); err != nil {
		w.Errorf("the hold cannot be confirmed in the copy: %v", err)
	}
}
