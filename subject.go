package dibs

import "fmt"

const (
	maxValue       = 1024
	maxCorrelation = 255
	maxMetaEntries = 16
	maxMetaText    = 255
	maxNames       = 32 // names one command may touch
)

// preparer checks commands on behalf of a principal, under a set of policies.
type preparer struct {
	policies  *policies
	principal Principal

	// wants gathers the records that the commands are known to look at. It saves
	// loading twice, no more: a decision asks for what else it needs.
	wants []Ref
	// fresh are those of them that are most likely absent.
	fresh []Ref
}

// want notes a record that a command will look at.
func (p *preparer) want(refs ...Ref) { p.wants = append(p.wants, refs...) }

// expectFresh is want for a record that is most likely absent.
func (p *preparer) expectFresh(ref Ref) {
	p.want(ref)
	p.fresh = append(p.fresh, ref)
}

// wantEntity notes an entity that a command will look at.
func (p *preparer) wantEntity(scope string, entity Entity) { p.want(entityRef(scope, entity)) }

func entityRef(scope string, entity Entity) Ref {
	return Ref{KindEntity, scope, EntityID(scope, entity)}
}

// subject is a name as a command addresses it: canonical, with its ID and policy.
type subject struct {
	space
	value     string
	canonical string
	id        ID
	field     string
}

func (s *subject) key() string { return s.namespace + ":" + s.canonical }

func (s *subject) ref() Ref { return Ref{KindName, s.scope, s.id} }

// refuse makes an error about this name.
func (s *subject) refuse(code Code, format string, args ...any) *Error {
	return s.about(&Error{Code: code, Message: fmt.Sprintf(format, args...)})
}

// about fills in what an error needs to tell about this name.
func (s *subject) about(err *Error) *Error {
	if err != nil {
		err.Namespace, err.Field = s.namespace, s.field
		if s.canonical != "" {
			err.Key = s.key()
		}
	}
	return err
}

// address finds the name that a value means in a namespace, for a command that looks
// at it.
func (p *preparer) address(namespace, value, field string) (*subject, *Error) {
	s, err := p.locate(namespace, value, field)
	if err == nil {
		p.want(s.ref())
	}
	return s, err
}

// locate works out which name a value means in a namespace.
func (p *preparer) locate(namespace, value, field string) (*subject, *Error) {
	space, err := p.policies.space(namespace)
	if err != nil {
		err.Field = field
		return nil, err
	}
	s := &subject{space: space, value: value, field: field}
	if s.field == "" {
		s.field = space.kind
	}
	if problem := textProblem(value, 1, maxValue); problem != "" {
		return nil, s.refuse(CodeInvalidValue, "the value %s %s", quote(value), problem)
	}
	canonical, fail := space.policy.canonical(value)
	if fail != nil {
		return nil, s.refuse(CodeInvalidValue, "the value %s is not valid here: %v", quote(value), fail)
	}
	// The profile may be the user's own: what it returns is checked like any input.
	if problem := textProblem(canonical, 1, maxValue); problem != "" {
		return nil, s.refuse(CodeInvalidValue, "the value %s is not valid here: its canonical form %s", quote(value), problem)
	}
	s.canonical = canonical
	s.id = NameID(namespace, canonical)
	return s, nil
}

// newName is address for a name that somebody wants to have: reserved words are
// refused, unless the principal has the right to override them and asks for it.
func (p *preparer) newName(namespace, value, field string, override bool) (*subject, *Error) {
	s, err := p.locate(namespace, value, field)
	if err != nil {
		return nil, err
	}
	words := s.policy.ReservedWords
	switch {
	case words == nil || !words.Reserved(s.canonical):
	case !override:
		return nil, s.refuse(CodeReservedWord, "%s is a reserved word here", quote(s.canonical))
	case !p.principal.Has(OverrideReserved):
		return nil, s.refuse(CodeReservedWord, "%s is a reserved word here, and the principal has no right to override it", quote(s.canonical))
	}
	p.expectFresh(s.ref())
	p.want(floorRef(s.space))
	return s, nil
}

// details checks what a caller may attach to a hold.
func (s *subject) details(correlationID string, meta map[string]string) *Error {
	if problem := textProblem(correlationID, 0, maxCorrelation); problem != "" {
		return s.refuse(CodeInvalidValue, "the correlation id %s", problem)
	}
	if len(meta) > maxMetaEntries {
		return s.refuse(CodeInvalidValue, "meta has %d entries, more than the %d allowed", len(meta), maxMetaEntries)
	}
	for k, v := range meta {
		if problem := textProblem(k, 1, maxMetaText); problem != "" {
			return s.refuse(CodeInvalidValue, "the meta key %s %s", quote(k), problem)
		}
		if problem := textProblem(v, 0, maxMetaText); problem != "" {
			return s.refuse(CodeInvalidValue, "the meta value of %s %s", quote(k), problem)
		}
	}
	return nil
}
