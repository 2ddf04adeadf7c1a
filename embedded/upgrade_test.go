package embedded_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/embedded"
	"github.com/calldibs/dibs/internal/logtest"
	"github.com/calldibs/dibs/memstore"
	"github.com/calldibs/dibs/profile"
)

// shared is a store that several registries use, one after the other.
type shared struct{ *memstore.Store }

func (shared) Close() error { return nil }

// before has the policies of versions without checks.
var before = profile.Defaults{AllowReserved: true, AllowMixedScripts: true, AllowLookAlikes: true}.Policies()

// A store from before the defaults had checks: its names stay and do all that names do, new
// reserved words are refused, and its namespaces keep their rules until Recanonicalize.
func TestUpgradeToSafeDefaults(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	store := shared{memstore.New(memstore.Config{})}
	const token = "token-of-the-program"
	old := open(t, store, dibs.Config{Policies: before})
	for id, value := range map[string]string{"1": "admin", "2": "Аnn", "3": "modem", "4": "modern", "5": "Bob"} {
		must(t, old, dibs.Claim{Namespace: "username", Value: value, Entity: dibs.Entity{Type: "user", ID: id}})
	}
	must(t, old, dibs.Claim{Namespace: "slug", Value: "login", Entity: ann})
	must(t, old, dibs.Reserve{Namespace: "username", Value: "root", Token: token})
	must(t, old, dibs.Reserve{Namespace: "slug", Value: "api", Token: token})
	must(t, old, dibs.Claim{Namespace: "acme.username", Value: "ann", Entity: ann})

	log := &logtest.Buffer{}
	reg := open(t, store, dibs.Config{Logger: slog.New(slog.NewTextHandler(log, nil))})
	if !strings.Contains(log.String(), `namespaces="acme.username username"`) {
		t.Errorf("the log does not name the namespaces: %s", log)
	}
	for value, id := range map[string]string{"ADMIN": "1", "аnn": "2", "modem": "3", "modern": "4"} {
		if r, err := reg.Resolve(ctx, "username", value); err != nil || r.Entity.ID != id {
			t.Errorf("%s leads to %+v, %v", value, r, err)
		}
	}
	// What was taken before is confirmed, released, renamed away and given up.
	must(t, reg, dibs.Confirm{ID: dibs.NameID("username", "root"), Token: token, Entity: dibs.Entity{Type: "user", ID: "6"}})
	must(t, reg, dibs.Release{ID: dibs.NameID("slug", "api"), Token: token})
	must(t, reg, dibs.Rename{Namespace: "username", Value: "administrator-of-nothing", Entity: dibs.Entity{Type: "user", ID: "1"}})
	must(t, reg, dibs.Decommission{Namespace: "username", Value: "modern", Entity: dibs.Entity{Type: "user", ID: "4"}})
	must(t, reg, dibs.Transfer{Namespace: "slug", Value: "login", From: ann, To: bob})
	// New names: reserved words are refused, and the rules of the namespace are those from before.
	user := dibs.Entity{Type: "user", ID: "7"}
	refused(t, reg, dibs.Claim{Namespace: "username", Value: "support", Entity: user}, dibs.ErrReservedWord)
	refused(t, reg, dibs.Claim{Namespace: "slug", Value: "api", Entity: user}, dibs.ErrReservedWord)
	must(t, reg, dibs.Claim{Namespace: "username", Value: "Еve", Entity: user})
	must(t, reg, dibs.Claim{Namespace: "acme.username", Value: "аnn", Entity: bob})
	// A namespace without a scope shares its policy with its type.
	must(t, reg, dibs.Claim{Namespace: "new.username", Value: "Еve", Entity: user})

	// Recanonicalize switches the checks on, once no name is in the way.
	strict := open(t, store, dibs.Config{Policies: profile.Policies()})
	refused(t, strict, dibs.Claim{Namespace: "username", Value: "carol", Entity: bob}, dibs.ErrUnavailable)
	request := dibs.RecanonicalizeRequest{Namespace: "username"}
	report, err := strict.Recanonicalize(ctx, request)
	if err == nil || report.Counts[dibs.FindingInvalid] != 2 {
		t.Errorf("mixed names do not stop it: %+v, %v", report, err)
	}
	must(t, reg, dibs.Rename{Namespace: "username", Value: "ann", Entity: dibs.Entity{Type: "user", ID: "2"}})
	must(t, reg, dibs.Decommission{Namespace: "username", Value: "Аnn", Entity: dibs.Entity{Type: "user", ID: "2"}})
	must(t, reg, dibs.Decommission{Namespace: "username", Value: "Еve", Entity: user})
	if report, err = strict.Recanonicalize(ctx, request); err != nil {
		t.Fatalf("%+v, %v", report, err)
	}
	next := open(t, store, dibs.Config{})
	refused(t, next, dibs.Claim{Namespace: "username", Value: "Еve", Entity: user}, dibs.ErrInvalidValue)
	refused(t, next, dibs.Claim{Namespace: "username", Value: "b0b", Entity: user}, dibs.ErrNameTaken)
	must(t, next, dibs.Claim{Namespace: "username", Value: "eve", Entity: user})
	refused(t, next, dibs.Claim{Namespace: "acme.username", Value: "Еve", Entity: user}, nil) // it keeps its rules
}

// More namespaces than one error lists keep their rules, and one with other rules still is refused.
func TestUpgradeOfManyNamespaces(t *testing.T) {
	t.Parallel()
	store := shared{memstore.New(memstore.Config{})}
	old := open(t, store, dibs.Config{Policies: map[string]dibs.Policy{
		"username": {Profile: profile.Username{}}, "odd.username": {Profile: profile.Username{MinLength: 2}},
	}})
	const tenants = 1100
	for i := range tenants {
		must(t, old, dibs.Claim{Namespace: "t" + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + itoa(i) + ".username", Value: "ann", Entity: ann})
	}
	must(t, old, dibs.Claim{Namespace: "odd.username", Value: "ann", Entity: ann})
	reg := open(t, store, dibs.Config{})
	for _, i := range []int{0, 999, tenants - 1} {
		namespace := "t" + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + itoa(i) + ".username"
		must(t, reg, dibs.Claim{Namespace: namespace, Value: "Еve", Entity: bob})
	}
	refused(t, reg, dibs.Claim{Namespace: "odd.username", Value: "bob", Entity: bob}, dibs.ErrUnavailable)
	refused(t, reg, dibs.Claim{Namespace: "fresh.username", Value: "Еve", Entity: bob}, dibs.ErrInvalidValue)
}

// A namespace with the checks keeps them, though another of its type, without a scope, has none.
func TestUpgradeOfOneNamespaceOfTwo(t *testing.T) {
	t.Parallel()
	store := shared{memstore.New(memstore.Config{})}
	must(t, open(t, store, dibs.Config{}), dibs.Claim{Namespace: "acme.username", Value: "ann", Entity: ann})
	must(t, open(t, store, dibs.Config{Policies: before}), dibs.Claim{Namespace: "username", Value: "ann", Entity: ann})
	reg := open(t, store, dibs.Config{})
	must(t, reg, dibs.Claim{Namespace: "username", Value: "Еve", Entity: bob})
	refused(t, reg, dibs.Claim{Namespace: "acme.username", Value: "Еve", Entity: bob}, dibs.ErrInvalidValue)
	must(t, reg, dibs.Claim{Namespace: "acme.username", Value: "eve", Entity: bob})
}

func itoa(i int) string { return strings.TrimSpace(slog.IntValue(i).String()) }

func must(t *testing.T, reg *dibs.Registry, command dibs.Command) {
	t.Helper()
	refused(t, reg, command, nil)
}

// refused applies a command, and checks the error; nil means success.
func refused(t *testing.T, reg *dibs.Registry, command dibs.Command, want error) {
	t.Helper()
	if _, err := reg.Apply(t.Context(), command); !errors.Is(err, want) {
		t.Errorf("%+v: %v, want %v", command, err, want)
	}
}

// A store that does not answer is an error of Open, and is closed.
func TestOpenWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	store := memstore.New(memstore.Config{})
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := embedded.Open(store, dibs.Config{}); err == nil {
		t.Error("a closed store was opened")
	}
}
