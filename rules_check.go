package dibs

import (
	"fmt"
	"strings"
)

const maxChecks = 100

// check asks whether values could be reserved. It asks the same rule as Reserve, so the two
// cannot disagree on what "taken" means.
func (set *policies) check(req CheckRequest) (*job[[]Availability], *Error) {
	if len(req.Values) > maxChecks {
		return nil, &Error{Code: CodeTooLarge, Message: fmt.Sprintf("%d values in one check, more than the %d allowed", len(req.Values), maxChecks)}
	}
	if len(req.Parts) > maxParts {
		return nil, &Error{Code: CodeTooLarge, Message: fmt.Sprintf("%d parts for suggestions, more than the %d allowed", len(req.Parts), maxParts)}
	}
	if err := checkOptionalEntity(req.Entity); err != nil {
		return nil, err
	}
	p := &preparer{policies: set}
	invalid := make([]*Error, len(req.Values))
	targets := make([]*subject, len(req.Values))
	for i, value := range req.Values {
		var err *Error
		if targets[i], err = p.newName(req.Namespace, value, "", false); err != nil {
			if err.Code != CodeInvalidValue && err.Code != CodeReservedWord {
				return nil, err
			}
			invalid[i] = err
		}
	}
	return newQuestion(p, func(v *view) ([]Availability, *Error) {
		answers := make([]Availability, len(targets))
		for i, s := range targets {
			refused := invalid[i]
			if refused == nil {
				if err := v.mayMakeNames(s); err != nil {
					return nil, err
				}
				refused = v.available(s, v.name(s), req.Entity)
			}
			if refused != nil {
				answers[i] = unavailable(req.Values[i], refused)
			} else {
				answers[i] = Availability{Value: req.Values[i], Canonical: s.canonical, Available: true}
			}
		}
		return answers, nil
	}), nil
}

// unavailable says why a value cannot be reserved.
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
