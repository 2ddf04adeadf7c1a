package rules_test

import (
	"go/ast"
	"go/token"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/internal/rules"
)

// wellFormed has a well-formed value of every command.
var wellFormed = []dibs.Command{
	coretest.Reserve("slug", "x", coretest.Token1),
	dibs.ReserveAll{Reservations: []dibs.Reserve{{Namespace: "slug", Value: "x"}}},
	dibs.ReserveFirst{Namespace: "slug", Values: []string{"x"}},
	dibs.Extend{ID: dibs.NameID("slug", "x"), Token: coretest.Token1},
	dibs.Confirm{ID: dibs.NameID("slug", "x"), Token: coretest.Token1, Entity: coretest.User1},
	dibs.Release{ID: dibs.NameID("slug", "x"), Token: coretest.Token1},
	coretest.Claim("slug", "x", coretest.User1),
	coretest.Rename("slug", "x", coretest.User1),
	dibs.Archive{Entity: coretest.User1},
	dibs.Restore{Entity: coretest.User1},
	dibs.Import{Namespace: "slug", Value: "x", Entity: coretest.User1},
	dibs.Delete{Entity: coretest.User1},
	coretest.Decommission("slug", "x", coretest.User1),
	dibs.Transfer{Namespace: "slug", Value: "x", From: coretest.User1, To: coretest.User2},
	dibs.Swap{Namespace: "slug", A: dibs.Named{Value: "x", Entity: coretest.User1}, B: dibs.Named{Value: "y", Entity: coretest.User2}},
	dibs.Rekey{Namespace: "email", Value: "x@y"},
	dibs.Settle{ID: dibs.NameID("slug", "x"), Verdict: dibs.Absent},
}

// Every command type of the root package has a value here, is known to the rules, and has a
// location: that is how a forgotten place of a new command is found.
func TestRulesKnowEveryCommand(t *testing.T) {
	t.Parallel()
	types := commandTypes(t)
	if len(types) < 16 {
		t.Fatalf("the root package has the command types %v, want at least 16", types)
	}
	tested := make(map[string]bool)
	f := coretest.NewFixture(t, blind(keyA))
	for _, command := range wellFormed {
		name := reflect.TypeOf(command).Name()
		tested[name] = true
		if !slices.Contains(types, name) {
			t.Errorf("no method Op of %s was found in the root package", name)
		}
		if first, size := utf8.DecodeRuneInString(name); command.Op() != string(unicode.ToLower(first))+name[size:] {
			t.Errorf("the Op of %s is %q, want its name with a lower-case first letter", name, command.Op())
		}
		if len(rules.Locations(command)) == 0 {
			t.Errorf("Locations returns none for %#v", command)
		}
		zero := reflect.Zero(reflect.TypeOf(command)).Interface().(dibs.Command)
		for _, c := range []dibs.Command{command, zero} {
			if _, err := f.DryRun(f.Ctx, c); err != nil && strings.Contains(err.Error(), unknownType) {
				t.Errorf("%#v: %v", c, err)
			}
		}
	}
	for _, name := range types {
		if !tested[name] {
			t.Errorf("add a well-formed %s to this test", name)
		}
	}
	// The text that the test looks for is what the rules say of a type that they do not know.
	if _, err := f.DryRun(f.Ctx, foreignCommand{}); err == nil || !strings.Contains(err.Error(), unknownType) {
		t.Errorf("a foreign command: %v, want %q", err, unknownType)
	}
}

// unknownType is what the rules say of a command type that they do not know.
const unknownType = "unknown command type"

// foreignCommand is a command of another package.
type foreignCommand struct{}

func (foreignCommand) Op() string { return "foreign" }

// commandTypes returns the types of the root package with a method Op() string.
func commandTypes(t *testing.T) (types []string) {
	t.Helper()
	for _, file := range parseFolder(t, token.NewFileSet(), "../..") {
		for _, declaration := range file.Decls {
			method, ok := declaration.(*ast.FuncDecl)
			if !ok || method.Recv == nil || method.Name.Name != "Op" || method.Type.Params.NumFields() > 0 || method.Type.Results.NumFields() != 1 {
				continue
			}
			receiver := method.Recv.List[0].Type
			if pointer, ok := receiver.(*ast.StarExpr); ok {
				receiver = pointer.X
			}
			if name, ok := receiver.(*ast.Ident); ok {
				types = append(types, name.Name)
			}
		}
	}
	return types
}
