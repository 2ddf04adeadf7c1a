package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// mutant is one change to one file.
type mutant struct {
	path   string
	line   int
	what   string
	source []byte // the whole file, changed
}

func (m mutant) String() string { return fmt.Sprintf("%s:%d: %s", m.path, m.line, m.what) }

// flips maps operators to their replacements.
var flips = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS,
	token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL,
	token.LAND: token.LOR, token.LOR: token.LAND,
}

// mutantsOf returns all changes to a file: each condition of an if, and of a switch without
// a tag, is negated; each case of a switch with a tag is emptied; each comparison and
// connective is flipped.
func mutantsOf(path string, source []byte) ([]mutant, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var mutants []mutant
	text := func(from, to token.Pos) string {
		return string(source[set.Position(from).Offset:set.Position(to).Offset])
	}
	change := func(from, to token.Pos, with, what string) {
		begin, end := set.Position(from), set.Position(to)
		changed := string(source[:begin.Offset]) + with + string(source[end.Offset:])
		mutants = append(mutants, mutant{path, begin.Line, what, []byte(changed)})
	}
	negated := make(map[ast.Expr]bool)
	negate := func(e ast.Expr) {
		negated[e] = true
		was := text(e.Pos(), e.End())
		change(e.Pos(), e.End(), "!("+was+")", "negate "+oneLine(was))
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt:
			negate(n.Cond)
		case *ast.SwitchStmt:
			for _, stmt := range n.Body.List {
				clause := stmt.(*ast.CaseClause)
				if n.Tag == nil {
					for _, e := range clause.List {
						negate(e)
					}
				} else if len(clause.Body) > 0 {
					change(clause.Colon+1, clause.End(), "", "empty "+oneLine(text(clause.Pos(), clause.Colon)))
				}
			}
		case *ast.BinaryExpr:
			if negated[n] && (n.Op == token.EQL || n.Op == token.NEQ) {
				return true // flipping is the same as negating it
			}
			if flipped, ok := flips[n.Op]; ok {
				end := n.OpPos + token.Pos(len(n.Op.String()))
				change(n.OpPos, end, flipped.String(), fmt.Sprintf("%s for %s in %s", flipped, n.Op, oneLine(text(n.Pos(), n.End()))))
			}
		}
		return true
	})
	return mutants, nil
}

// oneLine shortens code to fit into a line of the report.
func oneLine(code string) string {
	return strings.Join(strings.Fields(code), " ")
}
