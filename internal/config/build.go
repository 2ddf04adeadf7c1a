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

// build makes a policy of a draft, and reports what is wrong with it.
func (l *loader) build(judge *judge, name string, d draft) dibs.Policy {
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
	if key, problem := judge.problem(name, p); problem != "" {
		l.report(d.at(key), "%s", problem)
	}
	return p
}

// judge knows what package dibs accepts, because it is asked.
type judge struct{ registry *dibs.Registry }

func newJudge() (*judge, error) {
	registry, err := embedded.Open(memstore.New(memstore.Config{}), dibs.Config{})
	return &judge{registry}, err
}

func (j *judge) close() { _ = j.registry.Close() }

// problem returns what is wrong with a policy, and with which setting of it.
func (j *judge) problem(name string, p dibs.Policy) (key, problem string) {
	var err error
	if name == "" {
		err = j.registry.SetPolicies(nil, p)
	} else {
		err = j.registry.SetPolicies(map[string]dibs.Policy{name: p}, dibs.Policy{})
	}
	if err == nil {
		return "", ""
	}
	if invalid, ok := errors.AsType[*dibs.Error](err); ok {
		return "", invalid.Message // the namespace
	}
	text := strings.TrimPrefix(err.Error(), "dibs: default policy: ")
	text = strings.TrimPrefix(text, fmt.Sprintf("dibs: policy for %q: ", name))
	// It begins with the field: "MaxTTL is 1s, it must be at least 5m0s".
	if field, rest, _ := strings.Cut(text, " "); field != "" && unicode.IsUpper(rune(field[0])) {
		return strings.ToLower(field[:1]) + field[1:], rest
	}
	return "", text
}
