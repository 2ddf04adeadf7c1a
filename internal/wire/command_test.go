package wire_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
)

// commandTypes are all commands of the library, by the op that they have on the wire.
var commandTypes = map[string]reflect.Type{
	"reserve": reflect.TypeFor[dibs.Reserve](), "reserveAll": reflect.TypeFor[dibs.ReserveAll](), "reserveFirst": reflect.TypeFor[dibs.ReserveFirst](),
	"extend": reflect.TypeFor[dibs.Extend](), "confirm": reflect.TypeFor[dibs.Confirm](), "release": reflect.TypeFor[dibs.Release](),
	"claim": reflect.TypeFor[dibs.Claim](), "rename": reflect.TypeFor[dibs.Rename](), "archive": reflect.TypeFor[dibs.Archive](),
	"restore": reflect.TypeFor[dibs.Restore](), "delete": reflect.TypeFor[dibs.Delete](), "decommission": reflect.TypeFor[dibs.Decommission](),
	"transfer": reflect.TypeFor[dibs.Transfer](), "swap": reflect.TypeFor[dibs.Swap](), "settle": reflect.TypeFor[dibs.Settle](),
	"rekey": reflect.TypeFor[dibs.Rekey](),
}

// sources parses the library's own files.
func sources(t *testing.T) []*ast.File {
	t.Helper()
	paths, err := filepath.Glob("../../*.go")
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// Whoever adds a command has to say what it is on the wire.
func TestNoCommandIsForgotten(t *testing.T) {
	t.Parallel()
	known := make(map[string]bool)
	for _, command := range commandTypes {
		known[command.Name()] = true
	}
	for _, file := range sources(t) {
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Recv == nil || f.Name.Name != "prepare" {
				continue
			}
			receiver, ok := f.Recv.List[0].Type.(*ast.Ident)
			if ok && receiver.IsExported() && !known[receiver.Name] {
				t.Errorf("%s is not tried here", receiver.Name)
			}
		}
	}
}

// A token for one of several does not get lost: it is refused, as the rules do.
func TestReserveAllHasOneToken(t *testing.T) {
	t.Parallel()
	_, err := wire.CommandOf(dibs.ReserveAll{Reservations: []dibs.Reserve{{Namespace: "slug", Value: "a", Token: "0123456789abcdef"}}})
	if !errors.Is(err, dibs.ErrInvalidToken) {
		t.Error(err)
	}
}

func TestCommandsCrossTheWire(t *testing.T) {
	t.Parallel()
	for op, kind := range commandTypes {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				value := reflect.New(kind)
				fill(t, value.Elem(), 0)
				command := value.Elem().Interface().(dibs.Command)
				if all, ok := command.(dibs.ReserveAll); ok {
					for i := range all.Reservations {
						all.Reservations[i].Token = "" // one token is for all
					}
				}
				written, err := wire.CommandOf(command)
				if err != nil || written.Op != op {
					t.Fatalf("the op is %q, want %q: %v", written.Op, op, err)
				}
				data, err := json.Marshal(written)
				if err != nil {
					t.Fatal(err)
				}
				var read wire.Command
				if err := json.Unmarshal(data, &read); err != nil {
					t.Fatal(err)
				}
				got, err := read.Command()
				if err != nil {
					t.Fatalf("%s: %v", data, err)
				}
				if !reflect.DeepEqual(got, command) {
					t.Fatalf("%s:\n got %+v\nwant %+v", data, got, command)
				}
			})
		})
	}
}

// full is a command with every member, none of them zero.
func full() wire.Command {
	ms, entity := int64(1000), &wire.Entity{Type: "user", ID: "1"}
	return wire.Command{
		Namespace: "slug", Value: "a", Values: []string{"a"}, Reservations: []wire.Reserve{{Namespace: "slug", Value: "a"}}, TTLMs: &ms, Token: "t",
		Entity: entity, CorrelationID: "c", Meta: map[string]string{"a": "b"}, Field: "f", OverrideReserved: true,
		ReservationID: dibs.NameID("slug", "a").String(), Replace: true, Replaces: "b", IfVersion: 1, Scope: "acme",
		From: entity, To: entity, A: &wire.Named{Value: "a", Entity: *entity}, B: &wire.Named{Value: "b", Entity: *entity}, Outcome: "exists", Limit: 1,
	}
}

// A member that the op does not have is refused, and named.
func TestMembersThatAnOpDoesNotHave(t *testing.T) {
	t.Parallel()
	for op := range commandTypes {
		all := full()
		all.Op = op
		v := reflect.ValueOf(&all).Elem()
		refused := 0
		for {
			_, err := all.Command()
			if err == nil {
				break
			}
			if !errors.Is(err, dibs.ErrInvalidValue) || refused > v.NumField() {
				t.Fatalf("%s: %v", op, err)
			}
			refused++
			if !zeroNamed(v, err.Error()) {
				t.Fatalf("%s: the error names no member: %v", op, err)
			}
		}
		if refused == 0 {
			t.Errorf("%s has every member there is", op)
		}
	}
}

// zeroNamed clears the member that a message names.
func zeroNamed(v reflect.Value, message string) bool {
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		if strings.Contains(message, `"`+name+`"`) && !v.Field(i).IsZero() {
			v.Field(i).SetZero()
			return true
		}
	}
	return false
}

func TestCommandsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	tests := []struct {
		command wire.Command
		want    error
	}{
		{wire.Command{}, dibs.ErrInvalidValue},
		{wire.Command{Op: "steal"}, dibs.ErrInvalidValue},
		{wire.Command{Op: "release", ReservationID: "x"}, dibs.ErrNotFound},
		{wire.Command{Op: "settle", ReservationID: dibs.NameID("slug", "a").String(), Outcome: "perhaps"}, dibs.ErrInvalidValue},
	}
	for _, test := range tests {
		if _, err := test.command.Command(); !errors.Is(err, test.want) {
			t.Errorf("%+v: %v", test.command, err)
		}
	}
	if _, err := wire.CommandOf(nil); err == nil {
		t.Error("no command was written")
	}
}

// A time to live that is out of all bounds stays out of them.
func TestTTLs(t *testing.T) {
	t.Parallel()
	for _, ms := range []int64{-1 << 63, -1, 0, 1, 1<<63 - 1} {
		d, set := wire.TTL(&ms).Duration()
		if !set || (ms > 0) != (d > 0) || (ms == 0) != (d == 0) {
			t.Errorf("%d ms became %v", ms, d)
		}
	}
	if _, set := wire.TTL(nil).Duration(); set {
		t.Error("no ttl became one")
	}
}
