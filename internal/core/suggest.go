package core

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
)

// How many random words suggestions are made from: some of the names may be taken.
const (
	randomCount  = 4
	randomLength = 4

	maxRefusals = 100 // that get suggestions
)

// randomWords returns short words that are easy to read out: no letter looks or sounds like a
// digit.
func randomWords() []string {
	const letters = "abcdefghjkmnpqrtuvwxyz"
	words := make([]string, randomCount)
	for i := range words {
		word := make([]byte, randomLength)
		for k := range word {
			word[k] = letters[rand.IntN(len(letters))]
		}
		words[i] = string(word)
	}
	return words
}

// suggestFor adds free names to a refusal, and to each part of one. It is help, not
// part of the answer: if it cannot be had, the refusal goes without.
func (c *core) suggestFor(ctx context.Context, err *dibs.Error) {
	if c.cfg.Suggestions < 0 {
		return
	}
	byNamespace := make(map[string][]*dibs.Error)
	for _, e := range replaceable(err, nil) {
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
func replaceable(e *dibs.Error, list []*dibs.Error) []*dibs.Error {
	for _, f := range e.Failures {
		list = replaceable(f.Err, list)
	}
	if len(e.Failures) == 0 && (e.Code == dibs.CodeNameTaken || (e.Refusal != nil && e.Refusal.Try != "")) {
		list = append(list, e)
	}
	return list
}

// suggestIn finds suggestions for refusals of one namespace, in one read.
func (c *core) suggestIn(ctx context.Context, namespace string, refused []*dibs.Error) {
	models := make([]string, 0, len(refused))
	for _, e := range refused[:min(len(refused), maxRefusals)] {
		_, canonical, _ := strings.Cut(e.Key, ":")
		models = append(models, rules.ModelOf(canonical, e.Refusal))
	}
	names := c.suggestions.do(ctx, namespace+":"+strings.Join(models, "\x00"), func() [][]string {
		names, _ := ask(ctx, c, c.rules().Suggest(namespace, models, nil, c.cfg.Suggestions, randomWords()))
		return names
	})
	for i := range names {
		refused[i].Suggestions = slices.Clone(names[i])
	}
}
