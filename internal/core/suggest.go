package core

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

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
	var room [1]rules.Model
	models := room[:0]
	for _, e := range refused[:min(len(refused), maxRefusals)] {
		_, canonical, _ := strings.Cut(e.Key, ":")
		models = append(models, rules.ModelOf(canonical, e.Refusal))
	}
	for i, names := range c.suggestNames(ctx, namespace, batch, models) {
		refused[i].Suggestions = slices.Clone(names)
	}
}

// suggestNames returns suggestions for each model, or none. Callers share the result.
func (c *core) suggestNames(ctx context.Context, namespace string, batch uint64, models []rules.Model) [][]string {
	if batch == 0 || c.IsBound() {
		return c.lookUpNames(ctx, namespace, slices.Clone(models))
	}
	key := keyOf(namespace, models)
	for {
		found, isNew := c.suggestions.find(key, batch, &c.writer.committer.batches)
		if isNew {
			// The lookup belongs to many callers, so none of their contexts can end it.
			go found.run(context.WithoutCancel(ctx), c, namespace, slices.Clone(models))
		}
		select {
		case <-found.done:
			if found.serves >= batch {
				return found.names
			}
		case <-ctx.Done():
			return nil
		}
	}
}

func (c *core) lookUpNames(ctx context.Context, namespace string, models []rules.Model) [][]string {
	names, _ := ask(ctx, c, c.rules().Suggest(namespace, models, nil, c.cfg.Suggestions, randomWords()))
	return names
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

// sharedSuggestions shares one lookup among callers that were refused the same: if ten thousand
// callers race for one name, nearly all want alternatives. A lookup serves the calls of all batches
// that were being decided when it began, so it never shows a state from before the call. While it is
// under way, the calls of later batches wait and then share the next. The result is shared, so no
// caller may change it.
type sharedSuggestions struct {
	mu      sync.Mutex
	lookups generation.Map[sharedKey, *lookup] // the latest of each key
}

// maxSharedLookups bounds how many lookups are remembered; a forgotten one is made once more.
const maxSharedLookups = 64

// sharedKey says what a lookup is about. Nearly all lookups have one model.
type sharedKey struct {
	namespace string
	first     rules.Model
	others    string
}

func keyOf(namespace string, models []rules.Model) sharedKey {
	key := sharedKey{namespace: namespace, first: models[0]}
	if len(models) > 1 {
		key.others = fmt.Sprintf("%+v", models[1:])
	}
	return key
}

type lookup struct {
	serves uint64 // the last batch whose calls it serves
	done   chan struct{}
	names  [][]string
}

// find returns the latest lookup of a key: one that serves the batch, or one that is under way, after
// which the caller asks again. Else it returns a new one, which the caller has to run. It serves all
// batches so far.
func (s *sharedSuggestions) find(key sharedKey, batch uint64, batches *atomic.Uint64) (found *lookup, isNew bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found, ok := s.lookups.Get(key); ok && (found.serves >= batch || !found.over()) {
		return found, false
	}
	found = &lookup{serves: batches.Load(), done: make(chan struct{})}
	s.lookups.Size = maxSharedLookups
	s.lookups.Put(key, found)
	return found, true
}

func (l *lookup) run(ctx context.Context, c *core, namespace string, models []rules.Model) {
	defer close(l.done)
	l.names = c.lookUpNames(ctx, namespace, models)
}

func (l *lookup) over() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}
