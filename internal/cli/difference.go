package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibsimport"
	"github.com/calldibs/dibs/internal/wire"
)

// sourceDifference is a difference for programs.
type sourceDifference struct {
	Kind      dibsimport.DifferenceKind `json:"kind"`
	Where     string                    `json:"where,omitempty"` // in the source
	Namespace string                    `json:"namespace"`
	Value     string                    `json:"value"`
	Entity    string                    `json:"entity,omitempty"` // by the source
	Owner     string                    `json:"owner,omitempty"`  // by the registry
	State     string                    `json:"state,omitempty"`  // by the registry
	Text      string                    `json:"text"`
	Problem   *wire.Problem             `json:"problem,omitempty"` // why it cannot be imported
	Advice    string                    `json:"advice,omitempty"`
}

func differenceOf(d dibsimport.Difference, advice string) sourceDifference {
	out := sourceDifference{
		Kind: d.Kind, Where: d.Row.Where, Namespace: d.Row.Namespace, Value: d.Row.Value, State: string(d.Name.State), Text: d.String(),
		Advice: advice,
	}
	if d.Kind == dibsimport.Extra {
		out.Namespace, out.Value = d.Name.Namespace, d.Name.Value
	} else {
		out.Entity = d.Row.Entity.String()
	}
	if !d.Name.Entity.IsZero() {
		out.Owner = d.Name.Entity.String()
	}
	if d.Err != nil {
		out.Problem = wire.ProblemOf(d.Err)
	}
	return out
}

// advisor says how to make the registry agree with the source.
type advisor struct {
	registry *dibs.Registry
	// due are entities, by namespace, that should have another active name by the source, and
	// whether a rename gives it to them. It makes the present name an alias.
	due map[string]bool
}

// maxDue bounds the memory for due. Beyond that no name is advised to be given up.
const maxDue = 100_000

// note notes what the advice for later differences depends on. Extra names come last.
func (a *advisor) note(d dibsimport.Difference) {
	if (renames(d) || d.Kind == dibsimport.OtherOwner && d.Row.AliasOf == "") && len(a.due) < maxDue {
		a.due[slot(d.Row.Namespace, d.Row.Entity)] = renames(d)
	}
}

// slot is the place of an entity's active name.
func slot(namespace string, entity dibs.Entity) string { return namespace + " " + entity.String() }

// renames reports whether a rename makes the registry agree.
func renames(d dibsimport.Difference) bool {
	return d.Kind == dibsimport.Missing && d.Err != nil && d.Err.Code == dibs.CodeEntityHasName || d.Kind == dibsimport.OtherRole && d.Row.AliasOf == ""
}

// adviceFor returns the command that makes the registry agree with the source. It tries the command
// in a dry run, so that no advice is refused.
func (a *advisor) adviceFor(ctx context.Context, d dibsimport.Difference) string {
	name := fmt.Sprintf("%s %s", d.Row.Namespace, shellWord(d.Row.Value))
	switch {
	case d.Kind == dibsimport.Missing && d.Err == nil:
		return "--fix imports it"
	case renames(d):
		return a.tried(ctx, "rename "+name+" --entity "+shellWord(d.Row.Entity.String()),
			dibs.Rename{Namespace: d.Row.Namespace, Value: d.Row.Value, Entity: d.Row.Entity})
	case d.Kind == dibsimport.OtherOwner:
		line, command := handOver(d.Row.Namespace, d.Row.Value, d.Name.Entity, d.Row.Entity)
		return a.tried(ctx, line, command)
	case d.Kind == dibsimport.OtherArchived:
		return "--fix does as the source says"
	case d.Kind == dibsimport.Extra:
		return a.forExtra(ctx, d.Name)
	default:
		return ""
	}
}

// forExtra advises to give up a name, unless its entity is to get another one, which may make it an
// alias whose links go on.
func (a *advisor) forExtra(ctx context.Context, n dibs.Name) string {
	renamed, isDue := a.due[slot(n.Namespace, n.Entity)]
	switch {
	case n.State == dibs.Active && renamed:
		return "nothing more: the rename of " + n.Entity.String() + " above makes it an alias, and its links go on"
	case n.State == dibs.Active && isDue:
		return "decide together with the other name of " + n.Entity.String() + ", above"
	case len(a.due) == maxDue:
		return ""
	}
	return a.tried(ctx, fmt.Sprintf("decommission %s %s --entity %s", n.Namespace, shellWord(n.Value), shellWord(n.Entity.String())),
		dibs.Decommission{Namespace: n.Namespace, Value: n.Value, Entity: n.Entity})
}

// tried returns a command that the registry would carry out, or why it would not.
func (a *advisor) tried(ctx context.Context, line string, command dibs.Command) string {
	_, err := a.registry.DryRun(ctx, command)
	refused, isRefused := errors.AsType[*dibs.Error](err)
	if !isRefused || refused.Code == dibs.CodeUnavailable { // a key may lack the right to try it
		return "dibs " + line
	}
	verb, _, _ := strings.Cut(line, " ")
	return fmt.Sprintf("decide by hand, see docs/verifying.md: a %s is refused, %s", verb, refused.Message)
}

// differs writes a difference.
func (v *verifying) differs(ctx context.Context, registry *dibs.Registry, d dibsimport.Difference) error {
	if v.advisor.registry == nil {
		v.advisor = advisor{registry, make(map[string]bool)}
	}
	v.advisor.note(d)
	if v.shown++; v.shown > v.most && !v.session.json {
		return nil
	}
	out := differenceOf(d, v.advisor.adviceFor(ctx, d))
	if v.session.json {
		return v.source.event("difference", out)
	}
	v.progress.end()
	p := v.session.printer()
	fmt.Fprintf(p.out, "%s %s  %s\n", p.paint.in(red, clean(out.Namespace+":"+out.Value)), p.paint.in(faint, kindText(d.Kind)), clean(out.Text))
	source := out.Entity
	if out.Where != "" {
		source += " (" + out.Where + ")"
	}
	there := strings.TrimSpace(out.Owner + " " + out.State)
	for _, line := range [][2]string{{"source", source}, {"registry", there}, {"to agree", out.Advice}} {
		if line[1] != "" {
			fmt.Fprintf(p.out, "    %s %s\n", p.paint.in(faint, fmt.Sprintf("%-9s", line[0])), clean(line[1]))
		}
	}
	return nil
}

// shellWord quotes a word for a shell, if it has to be.
func shellWord(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./@:+", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
