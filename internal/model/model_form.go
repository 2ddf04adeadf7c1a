package model

import "github.com/calldibs/dibs"

// malformed returns the refusal of a command that is refused in every state of its names,
// for example because a right is missing. If a list has such commands, its refusal names
// only them.
func (m *Model) malformed(p dibs.Principal, command dibs.Command) *Refusal {
	switch c := command.(type) {
	case dibs.Reserve:
		return m.malformedReserve(c)
	case dibs.ReserveAll:
		return m.malformedAll(c)
	case dibs.ReserveFirst:
		return m.malformedFirst(c)
	case dibs.Claim:
		_, refused := m.wanted(c.Namespace, c.Value)
		return refused
	case dibs.Import:
		if _, refused := m.wanted(c.Namespace, c.Value); refused != nil {
			return refused
		}
		if c.AliasOf != "" {
			_, refused := m.address(c.Namespace, c.AliasOf)
			return refused
		}
	case dibs.Rename:
		if _, refused := m.wanted(c.Namespace, c.Value); refused != nil {
			return refused
		}
		if c.From != "" {
			_, refused := m.address(c.Namespace, c.From)
			return refused
		}
	case dibs.Settle:
		if !p.Has(dibs.Operate) {
			return refuse(dibs.CodeNotOwner)
		}
	case dibs.Decommission:
		_, refused := m.address(c.Namespace, c.Value)
		return refused
	case dibs.Transfer:
		_, refused := m.address(c.Namespace, c.Value)
		return refused
	case dibs.Swap:
		a, refused := m.address(c.Namespace, c.A.Value)
		if refused != nil {
			return refused
		}
		b, refused := m.address(c.Namespace, c.B.Value)
		switch {
		case refused != nil:
			return refused
		case c.A.Entity == c.B.Entity:
			return refuse(dibs.CodeInvalidEntity)
		case a == b:
			return refuse(dibs.CodeInvalidValue)
		}
	}
	return nil
}

func (m *Model) malformedReserve(c dibs.Reserve) *Refusal {
	if _, refused := m.wanted(c.Namespace, c.Value); refused != nil {
		return refused
	}
	_, refused := m.ttl(c.Namespace, c.TTL)
	return refused
}

func (m *Model) malformedAll(c dibs.ReserveAll) *Refusal {
	parts := make(map[int]*Refusal)
	seen := make(map[Key]bool)
	for i, r := range c.Reservations {
		if refused := m.malformedReserve(r); refused != nil {
			parts[i] = refused
			continue
		}
		key, _ := m.wanted(r.Namespace, r.Value)
		if seen[key] {
			parts[i] = refuse(dibs.CodeInvalidValue)
		}
		seen[key] = true
	}
	if len(parts) > 0 {
		return first(parts)
	}
	return nil
}

func (m *Model) malformedFirst(c dibs.ReserveFirst) *Refusal {
	// Malformed candidates are skipped: only the fields that all share count, and
	// only if there are candidates.
	for _, value := range c.Values {
		if _, refused := m.wanted(c.Namespace, value); refused == nil {
			_, refused := m.ttl(c.Namespace, c.TTL)
			return refused
		}
	}
	return nil
}
