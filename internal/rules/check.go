package rules

import (
	"cmp"
	"strings"

	"github.com/calldibs/dibs"
)

const maxChecks = 100

// Check asks whether values could be reserved. It applies the same rule as Reserve, so the two
// cannot disagree on what "taken" means.
func (set *Policies) Check(req dibs.CheckRequest) (*Job[[]dibs.Availability], *dibs.Error) {
	if err := cmp.Or(
		checkAtMost(len(req.Values), maxChecks, "values in one check"),
		checkAtMost(len(req.Parts), maxParts, "parts for suggestions"),
		checkOptionalEntity(req.Entity),
	); err != nil {
		return nil, err
	}
	p := set.preparer()
	invalid := make([]*dibs.Error, len(req.Values))
	targets := make([]*target, len(req.Values))
	for i, value := range req.Values {
		targets[i], invalid[i] = p.newTarget(req.Namespace, value, "", false)
		if err := invalid[i]; err != nil && !isAboutValue(err) {
			return nil, err
		}
	}
	return newQuestion(p, func(v *view) ([]dibs.Availability, *dibs.Error) {
		answers := make([]dibs.Availability, len(targets))
		for i, t := range targets {
			refused := invalid[i]
			if refused == nil {
				if err := v.checkNewNames(t); err != nil {
					return nil, err
				}
				refused = v.checkAvailable(t, v.name(t), req.Entity)
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

// isAboutValue reports whether an error is about one value, and not about the whole request.
func isAboutValue(err *dibs.Error) bool {
	return err.Code == dibs.CodeInvalidValue || err.Code == dibs.CodeReservedWord
}

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
