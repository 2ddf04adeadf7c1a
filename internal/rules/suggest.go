package rules

import (
	"slices"
	"strconv"
	"strings"

	"github.com/calldibs/dibs"
)

const (
	maxSuggestions = 10
	maxParts       = 8

	// randomEvery is which of the suggested names have a random part: every fourth.
	randomEvery = 4
)

// suggestedNumbers are tried in this order: small ones first, and large ones for a name that many
// callers want.
var suggestedNumbers = []string{
	"2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16", "17", "18", "19", "20",
	"25", "30", "40", "50", "60", "70", "80", "90", "100", "250", "500", "1000", "2500", "5000", "10000",
}

// Model is what suggestions for a refused value are made from.
type Model struct {
	Name string // empty if there is none
	// Refused says that Name itself was refused: it is not suggested, also if it became free
	// between the refusal and the suggestions.
	Refused bool
}

// ModelOf returns the model for a refused value: its canonical form, or what the profile would
// accept instead.
func ModelOf(canonical string, refusal *dibs.Refusal) Model {
	if refusal != nil {
		return Model{Name: refusal.Try}
	}
	return Model{canonical, true}
}

// Suggest asks, for each model, for up to count names like it that are valid, not reserved and
// free. Parts are what the caller offers to make names from, random some random words. All
// candidates are read at once.
func (set *Policies) Suggest(namespace string, models []Model, parts []string, count int, random []string) *Job[[][]string] {
	p := set.preparer()
	list := make([]candidates, len(models))
	for i, model := range models {
		list[i] = p.candidates(namespace, model, parts, random)
	}
	return newQuestion(p, func(v *view) ([][]string, *dibs.Error) {
		names := make([][]string, len(models))
		for i := range list {
			names[i] = v.choose(list[i], min(count, maxSuggestions))
		}
		return names, nil
	})
}

// candidates are names to suggest if they are free: the best ones, and random ones.
type candidates struct{ best, random []*target }

// candidates returns names like a model, each once. A blind namespace has none: they would reveal
// the value.
func (p *preparer) candidates(namespace string, of Model, parts, random []string) (c candidates) {
	model := of.Name
	ns, err := p.policies.namespace(namespace)
	if err != nil || ns.policy.blind() || model == "" {
		return c
	}
	seen := make(map[dibs.ID]bool)
	add := func(list *[]*target, value string) {
		t := p.newTarget(namespace, value, "", false)
		if p.takeRefusal() == nil && !seen[t.id] {
			seen[t.id] = true
			*list = append(*list, t)
		}
	}
	if of.Refused {
		refused, _ := p.locate(namespace, model, "")
		seen[refused.id] = true
	}
	add(&c.best, model) // it may be free, if only the spelling was wrong
	for _, part := range parts {
		add(&c.best, ns.policy.join(model, part))
	}
	if len(parts) > 1 {
		add(&c.best, ns.policy.join(ns.policy.join(model, parts[0]), parts[1]))
	}
	stem := withoutNumber(model)
	for _, number := range suggestedNumbers {
		add(&c.best, ns.policy.join(stem, number))
	}
	for _, word := range random {
		add(&c.random, ns.policy.join(stem, word))
	}
	return c
}

// choose returns up to n of the candidates that are free, always in the same order.
func (v *view) choose(c candidates, n int) []string {
	free := func(list []*target) (names []string) {
		for _, t := range list {
			if len(names) == n {
				break
			}
			if v.surelyFree(t) {
				names = append(names, t.canonical)
			}
		}
		return names
	}
	best, random := free(c.best), free(c.random)
	var names []string
	for len(names) < n && len(best)+len(random) > 0 {
		from := &best
		if len(best) == 0 || (len(names)%randomEvery == randomEvery-1 && len(random) > 0) {
			from = &random
		}
		names = append(names, (*from)[0])
		*from = (*from)[1:]
	}
	return names
}

// surelyFree reports whether any entity can have a name, by what one read can tell: a name that
// looks like others is left out, even if those are free by now.
func (v *view) surelyFree(t *target) bool {
	n := v.name(t)
	for _, key := range t.skeletons {
		if names, _ := v.readIndex(key); slices.ContainsFunc(names, func(id dibs.ID) bool { return id != n.ID }) {
			return false
		}
	}
	return t.refuseTaken(n, dibs.Entity{}) == nil
}

// withoutNumber turns "alice-2" into "alice", so that the next is not "alice-2-2".
func withoutNumber(canonical string) string {
	i := strings.LastIndexByte(canonical, '-')
	if i <= 0 {
		return canonical
	}
	if number, err := strconv.Atoi(canonical[i+1:]); err != nil || number < 2 {
		return canonical
	}
	return canonical[:i]
}
