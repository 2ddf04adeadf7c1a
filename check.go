package dibs

import (
	"context"
	"fmt"
	"strings"
)

// Check says whether values could be reserved. It asks the very rule that Reserve
// asks, so the two can never disagree on what "taken" means.
func (c *core) Check(ctx context.Context, req CheckRequest) ([]Availability, error) {
	if err := req.check(); err != nil {
		return nil, err
	}
	p := c.preparer(Principal{})
	answers := make([]Availability, len(req.Values))
	subjects := make([]*subject, len(req.Values))
	for i, value := range req.Values {
		s, err := p.newName(req.Namespace, value, "", false)
		if err != nil && err.Code != CodeInvalidValue && err.Code != CodeReservedWord {
			return nil, err
		}
		if err != nil {
			answers[i] = unavailable(value, err)
		}
		subjects[i] = s
	}
	found, err := ask(ctx, c, p, func(v *view) checked { return v.check(req, subjects) })
	switch {
	case err != nil:
		return nil, err
	case found.wrongRules != nil:
		return nil, found.wrongRules
	}
	for i, s := range subjects {
		if s != nil {
			answers[i] = found.answers[i]
		}
	}
	return answers, c.suggestAnswers(ctx, req, answers)
}

// checked is what the engine has to say to a check.
type checked struct {
	answers    []Availability // of values that are valid
	wrongRules *Error
}

func (v *view) check(req CheckRequest, subjects []*subject) checked {
	found := checked{answers: make([]Availability, len(subjects))}
	for i, s := range subjects {
		if s == nil {
			continue
		}
		f, _, err := readFloor(v, s.space)
		if err == nil {
			setDefault(&f.Rules, s.policy.rules)
			err = f.admits(s)
		}
		if err != nil {
			return checked{wrongRules: err}
		}
		found.answers[i] = Availability{Value: req.Values[i], Canonical: s.canonical, Available: true}
		if err := v.available(s, v.name(s), req.Entity); err != nil {
			found.answers[i] = unavailable(req.Values[i], err)
		}
	}
	return found
}

func (r CheckRequest) check() *Error {
	if len(r.Values) > maxChecks {
		return &Error{Code: CodeTooLarge, Message: fmt.Sprintf("%d values in one check, more than the %d allowed", len(r.Values), maxChecks)}
	}
	if len(r.Parts) > maxParts {
		return &Error{Code: CodeTooLarge, Message: fmt.Sprintf("%d parts for suggestions, more than the %d allowed", len(r.Parts), maxParts)}
	}
	return r.Entity.checkOptional()
}

// unavailable says why a value cannot be had.
func unavailable(value string, err *Error) Availability {
	a := Availability{Value: value, Reason: err.Reason, Detail: err.Message, Until: err.Until, Refusal: err.Refusal}
	if err.Code == CodeInvalidValue {
		a.Reason = ReasonInvalid
	}
	if err.Code == CodeReservedWord {
		a.Reason = ReasonReservedWord
	}
	_, a.Canonical, _ = strings.Cut(err.Key, ":")
	return a
}

// suggestAnswers adds free names to the answers that say no.
func (c *core) suggestAnswers(ctx context.Context, req CheckRequest, answers []Availability) error {
	if req.Suggest <= 0 {
		return nil
	}
	var (
		places []int
		models []string
	)
	for i, a := range answers {
		if !a.Available {
			places, models = append(places, i), append(models, model(a.Canonical, a.Refusal))
		}
	}
	names, err := c.suggest(ctx, suggestion{req.Namespace, req.Parts, req.Suggest}, models)
	if err != nil {
		return err
	}
	for i, place := range places {
		answers[place].Suggestions = names[i]
	}
	return nil
}
