package dibs

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxSuggestions = 10
	maxParts       = 8

	// Every so many-th name has a random part.
	randomEvery  = 4
	randomNames  = maxSuggestions/randomEvery + 2 // a few more: some may be taken
	randomLength = 4
)

// suggestedNumbers are tried in this order: the next free one first, and far ones
// for a name that everybody wants.
var suggestedNumbers = []string{
	"2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16", "17", "18", "19", "20",
	"25", "30", "40", "50", "60", "70", "80", "90", "100", "250", "500", "1000", "2500", "5000", "10000",
}

// suggestion says what names to look for.
type suggestion struct {
	namespace string
	parts     []string // what the caller offers to make names from
	count     int
}

// model is what suggestions for a refused value are made from: its canonical form, or
// what the profile would accept in its place. Empty means that there is none.
func model(canonical string, refusal *Refusal) string {
	if refusal != nil {
		return refusal.Try
	}
	return canonical
}

// suggest returns, for each model, names like it that are valid, not reserved and free.
// All of them are looked at in one read.
func (c *core) suggest(ctx context.Context, want suggestion, models []string) ([][]string, error) {
	p := c.preparer(Principal{})
	list := make([]candidates, len(models))
	for i, model := range models {
		list[i] = p.candidates(want, model)
	}
	return ask(ctx, c, p, func(v *view) [][]string {
		names := make([][]string, len(models))
		for i := range list {
			names[i] = v.choose(list[i], min(want.count, maxSuggestions))
		}
		return names
	})
}

// candidates are names to suggest, if they are free: those that fit best, and those
// that are random.
type candidates struct{ best, random []*subject }

// choose returns up to n of the candidates that are free, always in the same order.
func (v *view) choose(c candidates, n int) []string {
	free := func(list []*subject) (names []string) {
		for _, s := range list {
			if v.surelyFree(s) {
				names = append(names, s.canonical)
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

// surelyFree reports whether anybody can have a name, by what one read can tell: one
// that looks like others is left out, also if those were free by now.
func (v *view) surelyFree(s *subject) bool {
	d := v.name(s)
	for _, f := range s.skeletons {
		if names, _ := v.filed(f); slices.ContainsFunc(names, func(id ID) bool { return id != d.ID }) {
			return false
		}
	}
	return s.taken(d, Entity{}) == nil
}

// candidates returns names like a model, each once. A blind namespace has none: they
// would tell the value.
func (p *preparer) candidates(want suggestion, model string) (c candidates) {
	space, err := p.policies.space(want.namespace)
	if err != nil || space.policy.blind() || model == "" {
		return c
	}
	seen := make(map[ID]bool)
	add := func(list *[]*subject, value string) {
		s, err := p.newName(want.namespace, value, "", false)
		if err == nil && !seen[s.id] {
			seen[s.id] = true
			*list = append(*list, s)
		}
	}
	add(&c.best, model) // it is free where only the spelling was wrong
	for _, part := range want.parts {
		add(&c.best, space.policy.join(model, part))
	}
	if len(want.parts) > 1 {
		add(&c.best, space.policy.join(space.policy.join(model, want.parts[0]), want.parts[1]))
	}
	stem := withoutNumber(model)
	for _, number := range suggestedNumbers {
		add(&c.best, space.policy.join(stem, number))
	}
	for range randomNames {
		add(&c.random, space.policy.join(stem, randomWord()))
	}
	return c
}

// join asks the profile to append a word to a canonical form.
func (p *Policy) join(canonical, word string) (joined string) {
	joiner, ok := p.Profile.(Joiner)
	if !ok {
		return joinPlain(canonical, word)
	}
	defer func() { // it may be the user's own code
		if recover() != nil {
			joined = ""
		}
	}()
	return joiner.Join(canonical, word)
}

// joinPlain joins by a hyphen, and cuts the value where it would get too long.
func joinPlain(canonical, word string) string {
	most := max(0, maxValue-len(word)-1)
	if len(canonical) > most {
		for most > 0 && !utf8.RuneStart(canonical[most]) {
			most--
		}
		canonical = canonical[:most]
	}
	return canonical + "-" + word
}

// withoutNumber makes "alice" of "alice-2", so that the next is not "alice-2-2".
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

// randomWord returns a short word that is easy to read out: no letter in it looks or
// sounds like a digit.
func randomWord() string {
	const letters = "abcdefghjkmnpqrtuvwxyz"
	word := make([]byte, randomLength)
	for i := range word {
		word[i] = letters[rand.IntN(len(letters))]
	}
	return string(word)
}

// suggestFor adds free names to a refusal, and to each part of one. It is help, not
// part of the answer: if it cannot be had, the refusal goes without.
func (c *core) suggestFor(ctx context.Context, err *Error) {
	if c.cfg.Suggestions < 0 {
		return
	}
	byNamespace := make(map[string][]*Error)
	for _, e := range err.replaceable(nil) {
		byNamespace[e.Namespace] = append(byNamespace[e.Namespace], e)
	}
	for namespace, refused := range byNamespace {
		c.suggestIn(ctx, namespace, refused)
	}
	if len(err.Failures) > 0 {
		err.Suggestions = err.Failures[0].Err.Suggestions
	}
}

// replaceable appends the refusals in err for which another name would do: itself, or
// its parts.
func (e *Error) replaceable(list []*Error) []*Error {
	for _, f := range e.Failures {
		list = f.Err.replaceable(list)
	}
	if len(e.Failures) == 0 && (e.Code == CodeNameTaken || (e.Refusal != nil && e.Refusal.Try != "")) {
		list = append(list, e)
	}
	return list
}

// suggestIn finds suggestions for refusals of one namespace, in one read.
func (c *core) suggestIn(ctx context.Context, namespace string, refused []*Error) {
	models := make([]string, 0, len(refused))
	for _, e := range refused[:min(len(refused), maxChecks)] {
		_, canonical, _ := strings.Cut(e.Key, ":")
		models = append(models, model(canonical, e.Refusal))
	}
	names := c.flight.do(ctx, namespace+":"+strings.Join(models, "\x00"), func() [][]string {
		names, _ := c.suggest(ctx, suggestion{namespace: namespace, count: c.cfg.Suggestions}, models)
		return names
	})
	for i := range names {
		refused[i].Suggestions = slices.Clone(names[i])
	}
}
