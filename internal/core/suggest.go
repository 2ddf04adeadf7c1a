package core

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/generation"
	"github.com/calldibs/dibs/internal/rules"
)

// maxRefusals is how many refusals of a call get suggestions.
const maxRefusals = 100

// suggestFor adds suggestions to a refusal, and to each refusal that it consists of. Without
// them the refusal is still valid, so errors are ignored. Refusals of one batch share them.
func (c *core) suggestFor(ctx context.Context, err *dibs.Error, batch uint64) {
	switch {
	case c.cfg.Suggestions < 0:
		return
	case len(err.Failures) == 0:
		if isReplaceable(err) {
			c.suggestIn(ctx, err.Namespace, batch, err)
		}
		return
	}
	byNamespace := make(map[string][]*dibs.Error)
	for _, e := range replaceable(err, nil) {
		byNamespace[e.Namespace] = append(byNamespace[e.Namespace], e)
	}
	for namespace, refused := range byNamespace {
		c.suggestIn(ctx, namespace, batch, refused...)
	}
	err.Suggestions = err.Failures[0].Err.Suggestions
}

// isReplaceable reports whether another name would do in place of the refused one.
func isReplaceable(e *dibs.Error) bool {
	return e.Code == dibs.CodeNameTaken || (e.Refusal != nil && e.Refusal.Try != "")
}

// replaceable appends the refusals in e for which another name would do: e itself, or its
// parts.
func replaceable(e *dibs.Error, list []*dibs.Error) []*dibs.Error {
	for _, f := range e.Failures {
		list = replaceable(f.Err, list)
	}
	if len(e.Failures) == 0 && isReplaceable(e) {
		list = append(list, e)
	}
	return list
}

// suggestIn adds suggestions to refusals of one namespace, with one read.
func (c *core) suggestIn(ctx context.Context, namespace string, batch uint64, refused ...*dibs.Error) {
	models := make([]rules.Model, 0, len(refused))
	var key strings.Builder
	for _, e := range refused[:min(len(refused), maxRefusals)] {
		_, canonical, _ := strings.Cut(e.Key, ":")
		model := rules.ModelOf(canonical, e.Refusal)
		models = append(models, model)
		key.WriteString(model.Name + "\x00" + strconv.FormatBool(model.Refused) + "\x00")
	}
	names := c.suggestions.share(ctx, sharedKey{batch, namespace, key.String()}, func() [][]string {
		names, _ := ask(ctx, c, c.rules().Suggest(namespace, models, nil, c.cfg.Suggestions, randomWords()))
		return names
	})
	for i := range names {
		refused[i].Suggestions = slices.Clone(names[i])
	}
}

// suggestAnswers adds suggestions to the values of a Check that are not available.
func (c *core) suggestAnswers(ctx context.Context, req dibs.CheckRequest, answers []dibs.Availability) error {
	if req.Suggest <= 0 {
		return nil
	}
	var refused []int
	var models []rules.Model
	for i, a := range answers {
		if !a.Available {
			refused, models = append(refused, i), append(models, rules.ModelOf(a.Canonical, a.Refusal))
		}
	}
	if len(refused) == 0 {
		return nil
	}
	names, err := ask(ctx, c, c.rules().Suggest(req.Namespace, models, req.Parts, req.Suggest, randomWords()))
	if err != nil {
		return err
	}
	for i, index := range refused {
		answers[index].Suggestions = names[i]
	}
	return nil
}

// randomWords returns short words to make suggestions from. There are several, since some of
// the names may be taken. The words are easy to read out: no letter looks or sounds like a
// digit.
func randomWords() []string {
	const letters, count, length = "abcdefghjkmnpqrtuvwxyz", 4, 4
	words := make([]string, count)
	for i := range words {
		word := make([]byte, length)
		for k := range word {
			word[k] = letters[rand.IntN(len(letters))]
		}
		words[i] = string(word)
	}
	return words
}

// sharedSuggestions shares one lookup among all callers that were refused the same in one batch:
// if ten thousand callers race for one name, nearly all want alternatives. The lookup begins after
// the batch was decided, so it is as fresh as the refusal. The result is shared, so no caller may
// change it.
type sharedSuggestions struct {
	mu      sync.Mutex
	lookups generation.Map[sharedKey, *lookup] // the latest
}

// maxSharedLookups bounds how many lookups are remembered; a forgotten one is made once more.
const maxSharedLookups = 64

type sharedKey struct {
	batch     uint64 // 0 if no batch refused the call
	namespace string
	models    string
}

type lookup struct {
	done   chan struct{}
	result [][]string
}

// share returns the result of fn, or that of an earlier call with the same key.
func (s *sharedSuggestions) share(ctx context.Context, key sharedKey, fn func() [][]string) [][]string {
	if key.batch == 0 {
		return fn()
	}
	s.mu.Lock()
	shared, known := s.lookups.Get(key)
	if !known {
		shared = &lookup{done: make(chan struct{})}
		s.lookups.Size = maxSharedLookups
		s.lookups.Put(key, shared)
	}
	s.mu.Unlock()
	if !known {
		defer close(shared.done)
		shared.result = fn()
		return shared.result
	}
	select {
	case <-shared.done:
		return shared.result
	case <-ctx.Done():
		return nil
	}
}
