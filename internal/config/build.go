package config

import (
	"errors"
	"strings"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
	"github.com/calldibs/dibs/profile"
)

// build makes a policy from its settings, and reports its errors.
func (l *loader) build(name string, d policySettings) dibs.Policy {
	p := d.policy
	p.Profile = d.buildProfile(l)
	if d.oneScript {
		p.Profile = profile.OneScript(p.Profile)
	}
	if d.confusables {
		p.Skeleton = profile.Confusables
	}
	p.ReservedWords = buildWords(d.words)
	if d.blind {
		p.Blind = l.keys.list
		if len(p.Blind) == 0 && !l.keys.broken {
			l.report(d.at("blind"), "needs a key: add one in [[blindKeys]], or set %s", blindKeysVariable)
		}
	}
	p.Witness = l.witness(d)
	if key, problem := checkPolicy(name, p); problem != "" {
		l.report(d.at(key), "%s", problem)
	}
	return p
}

// checkPolicy returns the wrong setting of a policy and the problem, or two empty texts. The name
// is empty for the default policy.
func checkPolicy(name string, p dibs.Policy) (key, problem string) {
	if name != "" {
		if err := rules.CheckNamespace(name); err != nil {
			return "", err.Message
		}
	}
	err := rules.CheckPolicy(p)
	if invalid, ok := errors.AsType[*rules.PolicyError](err); ok {
		return strings.ToLower(invalid.Field[:1]) + invalid.Field[1:], invalid.Problem
	}
	if err != nil {
		return "", err.Error()
	}
	return "", ""
}
