package dibs

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

const maxSuggestions = 10

// Check says whether values could be reserved. It asks the very rule that Reserve
// asks, so the two can never disagree on what "taken" means.
func (c *core) Check(ctx context.Context, req CheckRequest) ([]Availability, error) {
	if len(req.Values) > maxChecks {
		return nil, &Error{Code: CodeTooLarge, Message: fmt.Sprintf("%d values in one check, more than the %d allowed", len(req.Values), maxChecks)}
	}
	if err := req.Entity.checkOptional(); err != nil {
		return nil, err
	}
	p := c.preparer(Principal{})
	answers := make([]Availability, len(req.Values))
	subjects := make([]*subject, len(req.Values))
	for i, value := range req.Values {
		answers[i].Value = value
		s, err := p.newName(req.Namespace, value, "", false)
		if err != nil && err.Code != CodeInvalidValue && err.Code != CodeReservedWord {
			return nil, err
		}
		if err != nil {
			answers[i].refuse(err)
			continue
		}
		answers[i].Canonical = s.canonical
		subjects[i] = s
	}
	err := c.read(ctx, p, func(v *view) {
		for i, s := range subjects {
			if s != nil {
				answers[i] = Availability{Value: s.value, Canonical: s.canonical, Available: true}
				if err := s.taken(v.name(s), req.Entity); err != nil {
					answers[i].refuse(err)
				}
			}
			if suggest := min(req.Suggest, maxSuggestions); suggest > 0 && !answers[i].Available {
				answers[i].Suggestions = p.suggest(v, req.Namespace, answers[i].Value, suggest)
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return answers, nil
}

// refuse fills in why a value is not available.
func (a *Availability) refuse(err *Error) {
	a.Available, a.Detail, a.Until = false, err.Message, err.Until
	switch err.Code {
	case CodeInvalidValue:
		a.Reason = ReasonInvalid
	case CodeReservedWord:
		a.Reason = ReasonReservedWord
	default:
		a.Reason = err.Reason
	}
	if err.Code == CodeReservedWord {
		_, a.Canonical, _ = strings.Cut(err.Key, ":")
	}
}

// suggestedNumbers are tried in this order: the next free one first, and far ones
// for a name that everybody wants.
var suggestedNumbers = []int{
	2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
	25, 30, 40, 50, 60, 70, 80, 90, 100, 250, 500, 1000, 2500, 5000, 10000,
}

// suggest returns up to n numbered names that are valid, not reserved and free.
func (p *preparer) suggest(v *view, namespace, value string, n int) []string {
	base := value
	if stem, number, ok := cutNumber(value); ok && number > 1 {
		base = stem
	}
	var names []string
	for _, number := range suggestedNumbers {
		candidate := numbered(base, number)
		s, err := p.newName(namespace, candidate, "", false)
		if err != nil || candidate == value {
			continue
		}
		// All of them are looked at, so that one read is enough.
		if d := v.name(s); s.taken(d, Entity{}) == nil && len(names) < n {
			names = append(names, candidate)
		}
	}
	return names
}

// cutNumber takes "alice-2" apart.
func cutNumber(value string) (stem string, number int, ok bool) {
	i := strings.LastIndexByte(value, '-')
	if i <= 0 {
		return value, 0, false
	}
	number, err := strconv.Atoi(value[i+1:])
	return value[:i], number, err == nil
}

// numbered appends a number, cutting the value where it would get too long.
func numbered(base string, number int) string {
	suffix := "-" + strconv.Itoa(number)
	if most := maxValue - len(suffix); len(base) > most {
		for most > 0 && !utf8.RuneStart(base[most]) {
			most--
		}
		base = base[:most]
	}
	return base + suffix
}

// suggestFor adds free names to a refusal, and to each part of one. It is help, not
// part of the answer: if it cannot be had, the refusal goes without.
func (c *core) suggestFor(ctx context.Context, err *Error) {
	if c.cfg.Suggestions < 0 {
		return
	}
	byNamespace := make(map[string][]*Error)
	for _, e := range err.taken(nil) {
		byNamespace[e.Namespace] = append(byNamespace[e.Namespace], e)
	}
	for namespace, refused := range byNamespace {
		c.suggestIn(ctx, namespace, refused)
	}
	if len(err.Failures) > 0 {
		err.Suggestions = err.Failures[0].Err.Suggestions
	}
}

// taken appends the refusals of taken names in err: itself, or its parts.
func (e *Error) taken(list []*Error) []*Error {
	for _, f := range e.Failures {
		list = f.Err.taken(list)
	}
	if len(e.Failures) == 0 && e.Code == CodeNameTaken {
		list = append(list, e)
	}
	return list
}

// suggestIn finds suggestions for refusals of one namespace, in one read.
func (c *core) suggestIn(ctx context.Context, namespace string, refused []*Error) {
	values := make([]string, 0, len(refused))
	for _, e := range refused[:min(len(refused), maxChecks)] {
		_, canonical, _ := strings.Cut(e.Key, ":")
		values = append(values, canonical)
	}
	suggestions := c.flight.do(ctx, namespace+":"+strings.Join(values, "\x00"), func() [][]string {
		found := make([][]string, len(values))
		answers, err := c.Check(ctx, CheckRequest{Namespace: namespace, Values: values, Suggest: c.cfg.Suggestions})
		if err != nil {
			return found
		}
		for i, a := range answers {
			found[i] = a.Suggestions
		}
		return found
	})
	for i := range suggestions {
		refused[i].Suggestions = slices.Clone(suggestions[i])
	}
}

// flight shares one look-up among all who want the same at the same time: of ten
// thousand who race for one name, nearly all want to know what else there is. The
// result is shared: nobody may change it.
type flight struct {
	mu    sync.Mutex
	calls map[string]*call
}

type call struct {
	done   chan struct{}
	result [][]string
}

func newFlight() *flight { return &flight{calls: make(map[string]*call)} }

func (f *flight) do(ctx context.Context, key string, fn func() [][]string) [][]string {
	f.mu.Lock()
	if running, ok := f.calls[key]; ok {
		f.mu.Unlock()
		select {
		case <-running.done:
			return running.result
		case <-ctx.Done():
			return nil
		}
	}
	mine := &call{done: make(chan struct{})}
	f.calls[key] = mine
	f.mu.Unlock()

	defer func() {
		f.mu.Lock()
		delete(f.calls, key)
		f.mu.Unlock()
		close(mine.done)
	}()
	mine.result = fn()
	return mine.result
}
