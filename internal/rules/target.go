package rules

import (
	"errors"
	"fmt"
	"slices"

	"github.com/calldibs/dibs"
)

const (
	maxValue       = 1024
	maxCorrelation = 255
	maxMetaEntries = 16
	maxMetaText    = 255
	maxNames       = 32 // names one command may touch

	// ownedLimit is how many names of an entity a batch lists: one more than a command may touch.
	OwnedLimit = maxNames + 1
)

// preparer checks commands on behalf of a principal, under a set of policies.
type preparer struct {
	policies  *Policies
	principal dibs.Principal

	// wants gathers the records that the commands are known to look at. It saves
	// loading twice, no more: a decision asks for what else it needs.
	wants []dibs.Ref
	// fresh are those of them that are most likely absent.
	fresh []dibs.Ref
}

// want notes a record that a command will look at.
func (p *preparer) want(refs ...dibs.Ref) { p.wants = append(p.wants, refs...) }

// expectFresh is want for a record that is most likely absent.
func (p *preparer) expectFresh(ref dibs.Ref) {
	p.want(ref)
	p.fresh = append(p.fresh, ref)
}

// wantEntity notes an entity that a command will look at.
func (p *preparer) wantEntity(scope string, entity dibs.Entity) { p.want(entityRef(scope, entity)) }

func entityRef(scope string, entity dibs.Entity) dibs.Ref {
	return dibs.Ref{Kind: dibs.KindEntity, Scope: scope, ID: dibs.EntityID(scope, entity)}
}

// subject is a name as a command addresses it: canonical, with its ID and policy. In a
// blind namespace keyed hashes stand in for value and canonical form, from the first.
type target struct {
	namespaceInfo
	value     string
	canonical string
	id        dibs.ID // of its row; in a blind namespace, of a row that is made now
	field     string

	hashes    []indexKey // where its row is filed, in a blind namespace
	skeletons []indexKey // where its look-alikes are, of a new name
}

func (s *target) key() string { return s.namespace + ":" + s.canonical }

func (s *target) ref() dibs.Ref { return dibs.Ref{Kind: dibs.KindName, Scope: s.scope, ID: s.id} }

// refuse makes an error about this name.
func (s *target) refuse(code dibs.Code, format string, args ...any) *dibs.Error {
	return s.about(&dibs.Error{Code: code, Message: fmt.Sprintf(format, args...)})
}

// about fills in what an error needs to tell about this name.
func (s *target) about(err *dibs.Error) *dibs.Error {
	if err != nil {
		err.Namespace, err.Field = s.namespace, s.field
		if s.canonical != "" {
			err.Key = s.key()
		}
	}
	return err
}

// invalid makes the error for a value that the namespace does not accept. In a blind
// namespace nothing of the value is in it.
func (s *target) invalid(value string, why error) *dibs.Error {
	var refusal *dibs.Refusal
	errors.As(why, &refusal)
	if !s.policy.blind() {
		err := s.refuse(dibs.CodeInvalidValue, "the value %s is not valid here: %v", quote(value), why)
		err.Refusal = refusal
		return err
	}
	if refusal == nil {
		return s.refuse(dibs.CodeInvalidValue, "the value is not valid here")
	}
	err := s.refuse(dibs.CodeInvalidValue, "the value is not valid here, by the rule %s", refusal.Rule)
	err.Refusal = &dibs.Refusal{Rule: refusal.Rule, Problem: "breaks the rule " + refusal.Rule, At: -1}
	return err
}

// address finds the name that a value means in a namespace, for a command that looks
// at it.
func (p *preparer) address(namespace, value, field string) (*target, *dibs.Error) {
	s, _, err := p.locate(namespace, value, field)
	if err == nil {
		p.want(s.ref())
		for _, f := range s.hashes {
			p.want(f.Ref)
		}
	}
	return s, err
}

// locate works out which name a value means in a namespace. It also returns the
// canonical form, which in a blind namespace is not to be kept.
func (p *preparer) locate(namespace, value, field string) (*target, string, *dibs.Error) {
	space, err := p.policies.namespace(namespace)
	if err != nil {
		err.Field = field
		return nil, "", err
	}
	s := &target{namespaceInfo: space, value: value, field: field}
	if s.field == "" {
		s.field = space.kind
	}
	if problem := textProblem(value, 1, maxValue); problem != "" {
		return nil, "", s.invalid(value, &dibs.Refusal{Rule: "text", Problem: "it " + problem, At: -1})
	}
	canonical, fail := space.policy.canonical(value)
	if fail != nil {
		return nil, "", s.invalid(value, fail)
	}
	// The profile may be the user's own: what it returns is checked like any input.
	if problem := textProblem(canonical, 1, maxValue); problem != "" {
		return nil, "", s.invalid(value, &dibs.Refusal{Rule: "canonical_text", Problem: "its canonical form " + problem, At: -1})
	}
	s.canonical = canonical
	if space.policy.blind() {
		s.hide(canonical)
	}
	s.id = dibs.NameID(namespace, s.canonical)
	return s, canonical, nil
}

// newName is address for a name that somebody wants to have: reserved words are
// refused, unless the principal has the right to override them and asks for it.
func (p *preparer) newName(namespace, value, field string, override bool) (*target, *dibs.Error) {
	s, canonical, err := p.locate(namespace, value, field)
	if err != nil {
		return nil, err
	}
	if err := p.mayTakeWord(s, canonical, override); err != nil {
		return nil, err
	}
	if err := s.compare(canonical); err != nil {
		return nil, err
	}
	p.expectFresh(s.ref())
	for _, f := range slices.Concat(s.skeletons, s.hashes) {
		p.expectFresh(f.Ref)
	}
	p.want(namespaceRecordRef(s.namespaceInfo))
	return s, nil
}

func (p *preparer) mayTakeWord(s *target, canonical string, override bool) *dibs.Error {
	words := s.policy.ReservedWords
	if words == nil || !words.Reserved(canonical) || (override && p.principal.HasIn(s.namespace, dibs.OverrideReserved)) {
		return nil
	}
	word, right := quote(canonical), ""
	if s.policy.blind() {
		word = "the value"
	}
	if override {
		right = ", and the principal has no right to override it"
	}
	return s.refuse(dibs.CodeReservedWord, "%s is a reserved word here%s", word, right)
}

// compare works out what the name has in common with its look-alikes.
func (s *target) compare(canonical string) *dibs.Error {
	if s.policy.Skeleton == nil {
		return nil
	}
	skeleton, fail := s.policy.skeleton(canonical)
	if fail != nil {
		return s.invalid(s.value, fail)
	}
	if !s.policy.blind() {
		s.skeletons = []indexKey{skeletonKey(s.namespaceInfo, skeleton)}
		return nil
	}
	for _, k := range s.policy.Blind {
		s.skeletons = append(s.skeletons, skeletonKey(s.namespaceInfo, keyedHash(k, dibs.KindSkeleton, s.namespace, skeleton)))
	}
	return nil
}

// details checks what a caller may attach to a hold.
func (s *target) details(correlationID string, meta map[string]string) *dibs.Error {
	if problem := textProblem(correlationID, 0, maxCorrelation); problem != "" {
		return s.refuse(dibs.CodeInvalidValue, "the correlation id %s", problem)
	}
	if len(meta) > maxMetaEntries {
		return s.refuse(dibs.CodeInvalidValue, "meta has %d entries, more than the %d allowed", len(meta), maxMetaEntries)
	}
	for k, v := range meta {
		if problem := textProblem(k, 1, maxMetaText); problem != "" {
			return s.refuse(dibs.CodeInvalidValue, "the meta key %s %s", quote(k), problem)
		}
		if problem := textProblem(v, 0, maxMetaText); problem != "" {
			return s.refuse(dibs.CodeInvalidValue, "the meta value of %s %s", quote(k), problem)
		}
	}
	return nil
}
