package wire_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
)

// commandTypes are all commands that a list can have, by their op.
var commandTypes = func() map[string]reflect.Type {
	types := make(map[string]reflect.Type)
	for _, c := range []dibs.Command{
		dibs.Reserve{},
		dibs.ReserveAll{},
		dibs.ReserveFirst{},
		dibs.Extend{},
		dibs.Confirm{},
		dibs.Release{},
		dibs.Claim{},
		dibs.Import{},
		dibs.Rename{},
		dibs.Archive{},
		dibs.Restore{},
		dibs.Delete{},
		dibs.Decommission{},
		dibs.Transfer{},
		dibs.Swap{},
		dibs.Settle{},
		dibs.Rekey{},
	} {
		types[c.Op()] = reflect.TypeOf(c)
	}
	return types
}()

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

// declared returns the method names of the interface Command, and the methods that each
// exported type of the library has, both read from its source.
func declared(t *testing.T) (command []string, methods map[string][]string) {
	t.Helper()
	methods = make(map[string][]string)
	for _, file := range sources(t) {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				if i, ok := n.Type.(*ast.InterfaceType); ok && n.Name.Name == "Command" {
					for _, m := range i.Methods.List {
						command = append(command, m.Names[0].Name)
					}
				}
			case *ast.FuncDecl:
				if n.Recv == nil {
					return false
				}
				if receiver, ok := n.Recv.List[0].Type.(*ast.Ident); ok && receiver.IsExported() {
					methods[receiver.Name] = append(methods[receiver.Name], n.Name.Name)
				}
			}
			return true
		})
	}
	return command, methods
}

// Every command of the library has an op.
func TestEveryCommandHasAnOp(t *testing.T) {
	t.Parallel()
	command, methods := declared(t)
	found := 0
	for name, has := range methods {
		if len(command) == 0 || slices.ContainsFunc(command, func(m string) bool { return !slices.Contains(has, m) }) {
			continue
		}
		found++
		op := strings.ToLower(name[:1]) + name[1:]
		if !slices.Contains(wire.Ops(), op) {
			t.Errorf("dibs.%s: internal/wire/op.go needs an entry %q", name, op)
		}
	}
	if found < len(commandTypes) {
		t.Errorf("found only %d command types in the source", found)
	}
	if want := slices.Sorted(maps.Keys(commandTypes)); !slices.Equal(wire.Ops(), want) {
		t.Errorf("the ops are %v; this test knows %v", wire.Ops(), want)
	}
	field, _ := reflect.TypeFor[wire.Command]().FieldByName("Op")
	enum := strings.Split(field.Tag.Get("enum"), ",")
	slices.Sort(enum)
	if !slices.Equal(enum, wire.Ops()) {
		t.Errorf("the enum of Command.Op is %v, the ops are %v", enum, wire.Ops())
	}
}

// The wire has no member for the token of one reservation of several, so it is refused.
func TestReserveAllHasOneToken(t *testing.T) {
	t.Parallel()
	_, err := wire.CommandOf(dibs.ReserveAll{Reservations: []dibs.Reserve{{Namespace: "slug", Value: "a", Token: "0123456789abcdef"}}})
	if !errors.Is(err, dibs.ErrInvalidToken) {
		t.Error(err)
	}
}

func TestCommandRoundTrips(t *testing.T) {
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
						all.Reservations[i].Token = "" // one token holds all
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

// full returns a command in which no member is zero.
func full() wire.Command {
	ms, entity := int64(1000), &wire.Entity{Type: "user", ID: "1"}
	return wire.Command{
		Namespace: "slug", Value: "a", Values: []string{"a"}, Reservations: []wire.Reserve{{Namespace: "slug", Value: "a"}}, TTLMs: &ms, Token: "t",
		Entity: entity, CorrelationID: "c", Meta: map[string]string{"a": "b"}, Field: "f", OverrideReserved: true,
		ReservationID: dibs.NameID("slug", "a").String(), Replace: true, Replaces: "b", IfVersion: 1, Scope: "acme",
		From: entity, To: entity, A: &wire.Named{Value: "a", Entity: *entity}, B: &wire.Named{Value: "b", Entity: *entity}, Outcome: "exists",
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
			t.Errorf("%s refused no member", op)
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

func TestInvalidCommands(t *testing.T) {
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
		t.Error("nil was written as a command")
	}
}

// A time to live out of bounds stays out of bounds.
func TestTTLs(t *testing.T) {
	t.Parallel()
	for _, ms := range []int64{-1 << 63, -1, 0, 1, 1<<63 - 1} {
		d, set := wire.TTL(&ms).Duration()
		if !set || (ms > 0) != (d > 0) || (ms == 0) != (d == 0) {
			t.Errorf("%d ms became %v", ms, d)
		}
	}
	if _, set := wire.TTL(nil).Duration(); set {
		t.Error("an absent ttl became a set one")
	}
}
