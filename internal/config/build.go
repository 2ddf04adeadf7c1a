package config

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/calldibs/dibs/embedded"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/memstore"
	"github.com/calldibs/dibs/profile"
)

// build makes a policy of its settings, and reports what is wrong with it.
func (l *loader) build(checker *policyChecker, name string, d policySettings) dibs.Policy {
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
	if key, problem := checker.check(name, p); problem != "" {
		l.report(d.at(key), "%s", problem)
	}
	return p
}

// policyChecker checks policies by setting them on a registry: package dibs exports no other
// check.
type policyChecker struct{ registry *dibs.Registry }

func newPolicyChecker() (*policyChecker, error) {
	registry, err := embedded.Open(memstore.New(memstore.Config{}), dibs.Config{})
	return &policyChecker{registry}, err
}

func (c *policyChecker) close() { _ = c.registry.Close() }

// check returns what is wrong with a policy, and the setting that is wrong.
func (c *policyChecker) check(name string, p dibs.Policy) (key, problem string) {
	var err error
	if name == "" {
		err = c.registry.SetPolicies(nil, p)
	} else {
		err = c.registry.SetPolicies(map[string]dibs.Policy{name: p}, dibs.Policy{})
	}
	if err == nil {
		return "", ""
	}
	if invalid, ok := errors.AsType[*dibs.Error](err); ok {
		return "", invalid.Message // about the namespace
	}
	text := strings.TrimPrefix(err.Error(), "dibs: default policy: ")
	text = strings.TrimPrefix(text, fmt.Sprintf("dibs: policy for %q: ", name))
	// The text begins with the field: "MaxTTL is 1s, it must be at least 5m0s".
	if field, rest, _ := strings.Cut(text, " "); field != "" && unicode.IsUpper(rune(field[0])) {
		return strings.ToLower(field[:1]) + field[1:], rest
	}
	return "", text
}
