package rules

import (
	"fmt"
	"strings"

	"github.com/calldibs/dibs"
)

const maxChecks = 100

// Check asks whether values could be reserved. It applies the same rule as Reserve, so the two
// cannot disagree on what "taken" means.
func (set *Policies) Check(req dibs.CheckRequest) (*Job[[]dibs.Availability], *dibs.Error) {
	if len(req.Values) > maxChecks {
		return nil, &dibs.Error{Code: dibs.CodeTooLarge, Message: fmt.Sprintf("%d values in one check, more than the %d allowed", len(req.Values), maxChecks)}
	}
	if len(req.Parts) > maxParts {
		return nil, &dibs.Error{Code: dibs.CodeTooLarge, Message: fmt.Sprintf("%d parts for suggestions, more than the %d allowed", len(req.Parts), maxParts)}
	}
	if err := checkOptionalEntity(req.Entity); err != nil {
		return nil, err
	}
	p := &preparer{policies: set}
	invalid := make([]*dibs.Error, len(req.Values))
	targets := make([]*target, len(req.Values))
	for i, value := range req.Values {
		var err *dibs.Error
		if targets[i], err = p.newTarget(req.Namespace, value, "", false); err != nil {
			if err.Code != dibs.CodeInvalidValue && err.Code != dibs.CodeReservedWord {
				return nil, err
			}
			invalid[i] = err
		}
	}
	return newQuestion(p, func(v *view) ([]dibs.Availability, *dibs.Error) {
		answers := make([]dibs.Availability, len(targets))
		for i, t := range targets {
			refused := invalid[i]
			if refused == nil {
				if err := v.mayMakeNames(t); err != nil {
					return nil, err
				}
				refused = v.available(t, v.name(t), req.Entity)
			}
			if refused != nil {
				answers[i] = unavailable(req.Values[i], refused)
			} else {
				answers[i] = dibs.Availability{Value: req.Values[i], Canonical: t.canonical, Available: true}
			}
		}
		return answers, nil
	}), nil
}

// unavailable says why a value cannot be reserved.
func unavailable(value string, err *dibs.Error) dibs.Availability {
	a := dibs.Availability{Value: value, Reason: err.Reason, Detail: err.Message, Until: err.Until, Refusal: err.Refusal}
	if err.Code == dibs.CodeInvalidValue {
		a.Reason = dibs.ReasonInvalid
	}
	if err.Code == dibs.CodeReservedWord {
		a.Reason = dibs.ReasonReservedWord
	}
	_, a.Canonical, _ = strings.Cut(err.Key, ":")
	return a
}
