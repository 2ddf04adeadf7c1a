package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// mutant is one change to one function.
type mutant struct {
	number   int // counted from 1, over all files
	path     string
	function string
	what     string
	again    int // counts the same change at other places of the function, from 1
	line     int
}

// String identifies the mutant, also after lines have moved.
func (m mutant) String() string {
	s := m.place() + m.what
	if m.again > 1 {
		s += fmt.Sprintf(" #%d", m.again)
	}
	return s
}

// place returns the first part of a description, which all changes of the function have.
func (m mutant) place() string { return fmt.Sprintf("%s %s: ", m.path, m.function) }

// flips maps operators to their replacements.
var flips = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS,
	token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL,
	token.LAND: token.LOR, token.LOR: token.LAND,
}

// file is a source file on its way to one that has all of its mutants, each of which runs if the
// function mutant is true for its number. So the tests of all mutants are one program.
type file struct {
	path    string
	source  []byte
	set     *token.FileSet
	mutants []mutant
	from    int // the number of the first mutant

	function string // that is being visited
	negated  map[ast.Expr]bool

	// What is inserted, or put in place of an operator, by the offset in the source.
	before, after map[int][]string
	operators     map[int]string
}

// withMutants returns the changed source of a file, and its mutants, numbered from the given number:
// each condition of an if, and of a switch without a tag, is negated; each case of a switch with a tag
// is emptied; each comparison and connective is flipped; each call whose result is not used, and each
// assignment to a variable that exists, is left out.
func withMutants(path string, source []byte, from int) ([]byte, []mutant, error) {
	f := &file{
		path: path, source: source, set: token.NewFileSet(), from: from, negated: make(map[ast.Expr]bool),
		before: make(map[int][]string), after: make(map[int][]string), operators: make(map[int]string),
	}
	parsed, err := parser.ParseFile(f.set, path, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, nil, err
	}
	for _, decl := range parsed.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok {
			f.function = nameOf(fn)
			ast.Inspect(fn, f.visit)
		}
	}
	return f.render(), f.mutants, nil
}

// nameOf returns a function's name, with the type of its receiver.
func nameOf(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return fn.Name.Name
	}
	receiver := fn.Recv.List[0].Type
	for {
		switch r := receiver.(type) {
		case *ast.StarExpr:
			receiver = r.X
		case *ast.IndexExpr:
			receiver = r.X
		default:
			return fmt.Sprintf("%s.%s", r, fn.Name.Name)
		}
	}
}

func (f *file) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncDecl:
		f.endWithPanic(n.Type, n.Body)
	case *ast.FuncLit:
		f.endWithPanic(n.Type, n.Body)
	case *ast.IfStmt:
		f.negate(n.Cond)
	case *ast.SwitchStmt:
		f.visitCases(n)
	case *ast.BinaryExpr:
		f.flip(n)
	case *ast.BlockStmt:
		f.leaveOut(n.List)
	case *ast.CaseClause:
		f.leaveOut(n.Body)
	}
	return true
}

// add adds a mutant and returns its number.
func (f *file) add(at token.Pos, what string) int {
	same := func(m mutant) bool { return m.function == f.function && m.what == what }
	again := 1
	for _, m := range f.mutants {
		if same(m) {
			again++
		}
	}
	number := f.from + len(f.mutants)
	f.mutants = append(f.mutants, mutant{number, f.path, f.function, what, again, f.set.Position(at).Line})
	return number
}

// wrap puts code around other code. Nodes are visited from the outside to the inside.
func (f *file) wrap(n ast.Node, before, after string) {
	from, to := f.set.Position(n.Pos()).Offset, f.set.Position(n.End()).Offset
	f.before[from] = append(f.before[from], before)
	f.after[to] = slices.Insert(f.after[to], 0, after)
}

func (f *file) negate(e ast.Expr) {
	f.negated[e] = true
	k := f.add(e.Pos(), "negate "+f.text(e.Pos(), e.End()))
	f.wrap(e, fmt.Sprintf("(mutant(%d) != (", k), "))")
}

func (f *file) visitCases(n *ast.SwitchStmt) {
	for _, stmt := range n.Body.List {
		clause := stmt.(*ast.CaseClause)
		if n.Tag == nil {
			for _, e := range clause.List {
				f.negate(e)
			}
		} else if len(clause.Body) > 0 {
			k := f.add(clause.Pos(), "empty "+f.text(clause.Pos(), clause.Colon))
			at := f.set.Position(clause.Colon).Offset + 1
			f.before[at] = append(f.before[at], fmt.Sprintf(" if mutant(%d) { break }\n", k))
		}
	}
}

// endWithPanic adds what a function with a result must have at its end: an emptied case does not return.
func (f *file) endWithPanic(fn *ast.FuncType, body *ast.BlockStmt) {
	if fn.Results == nil || len(body.List) == 0 {
		return
	}
	if _, ok := body.List[len(body.List)-1].(*ast.SwitchStmt); ok {
		at := f.set.Position(body.Rbrace).Offset
		f.before[at] = append(f.before[at], `; panic("an emptied case does not return") `)
	}
}

func (f *file) flip(n *ast.BinaryExpr) {
	if f.negated[n] && (n.Op == token.EQL || n.Op == token.NEQ) {
		return // flipping is the same as negating it
	}
	flipped, ok := flips[n.Op]
	if !ok {
		return
	}
	k := f.add(n.OpPos, fmt.Sprintf("%s for %s in %s", flipped, n.Op, f.text(n.Pos(), n.End())))
	at := f.set.Position(n.OpPos).Offset
	switch n.Op {
	case token.EQL, token.NEQ:
		f.wrap(n, fmt.Sprintf("(mutant(%d) != (", k), "))")
	case token.LAND, token.LOR:
		f.wrap(n, fmt.Sprintf("%s(%d, ", helpers[n.Op], k), ") })")
		f.operators[at] = ", func() bool { return ("
	default:
		f.wrap(n, fmt.Sprintf("%s(%d, ", helpers[n.Op], k), ")")
		f.operators[at] = ", "
	}
}

func (f *file) leaveOut(statements []ast.Stmt) {
	for _, s := range statements {
		switch s := s.(type) {
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE || allBlank(s.Lhs) {
				continue
			}
		case *ast.ExprStmt:
			if call, ok := s.X.(*ast.CallExpr); ok && f.text(call.Fun.Pos(), call.Fun.End()) == "panic" {
				continue
			}
		case *ast.IncDecStmt:
		default:
			continue
		}
		k := f.add(s.Pos(), "leave out "+f.text(s.Pos(), s.End()))
		f.wrap(s, fmt.Sprintf("if !mutant(%d) { ", k), " }")
	}
}

func allBlank(exprs []ast.Expr) bool {
	return !slices.ContainsFunc(exprs, func(e ast.Expr) bool {
		name, ok := e.(*ast.Ident)
		return !ok || name.Name != "_"
	})
}

// text returns code in one line, shortened if it is long.
func (f *file) text(from, to token.Pos) string {
	code := string(f.source[f.set.Position(from).Offset:f.set.Position(to).Offset])
	code = strings.Join(strings.Fields(code), " ")
	if runes := []rune(code); len(runes) > 100 {
		code = string(runes[:100]) + "…"
	}
	return code
}

func (f *file) render() []byte {
	var out strings.Builder
	for at := 0; at <= len(f.source); at++ {
		for _, s := range f.after[at] {
			out.WriteString(s)
		}
		for _, s := range f.before[at] {
			out.WriteString(s)
		}
		if s, ok := f.operators[at]; ok {
			out.WriteString(s)
			for at < len(f.source) && strings.ContainsRune("<>=!&|", rune(f.source[at])) {
				at++
			}
			at--
		} else if at < len(f.source) {
			out.WriteByte(f.source[at])
		}
	}
	return []byte(out.String())
}

// helpers are the functions that stand for operators in the changed files.
var helpers = map[token.Token]string{
	token.LSS: "mutantLess", token.LEQ: "mutantAtMost", token.GTR: "mutantMore", token.GEQ: "mutantAtLeast",
	token.LAND: "mutantAnd", token.LOR: "mutantOr",
}

// helperSource returns a file of the changed package that has what the changed files need.
func helperSource(pkg string) []byte {
	return fmt.Appendf(nil, `package %s

import (
	"cmp"
	"os"
	"strconv"
	"sync/atomic"
)

var (
	running, _ = strconv.Atoi(os.Getenv(%q))
	trace, _   = os.OpenFile(os.Getenv(%q), os.O_APPEND|os.O_WRONLY, 0)
	reached    [1 << 16]atomic.Bool
)

// mutant reports whether the mutant with a number runs. It notes that a test has reached it.
func mutant(k int) bool {
	if trace != nil && !reached[k].Load() && !reached[k].Swap(true) {
		_, _ = trace.WriteString(strconv.Itoa(k) + "\n")
	}
	return k == running
}

func mutantLess[T cmp.Ordered](k int, a, b T) bool    { return a < b || mutant(k) && a == b }
func mutantAtMost[T cmp.Ordered](k int, a, b T) bool  { return a < b || !mutant(k) && a == b }
func mutantMore[T cmp.Ordered](k int, a, b T) bool    { return a > b || mutant(k) && a == b }
func mutantAtLeast[T cmp.Ordered](k int, a, b T) bool { return a > b || !mutant(k) && a == b }

func mutantAnd(k int, a bool, b func() bool) bool {
	if mutant(k) {
		return a || b()
	}
	return a && b()
}

func mutantOr(k int, a bool, b func() bool) bool {
	if mutant(k) {
		return a && b()
	}
	return a || b()
}
`, pkg, variable, traceVariable)
}
