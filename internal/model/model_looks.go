package model

import "github.com/calldibs/dibs"

// maxLookAlikes is how many names that look alike an entity may have.
const maxLookAlikes = 32

// lookAlikes returns the other names that look like this one and are not free.
func (m *Model) lookAlikes(key Key) []Name {
	skeleton := m.policies[key.Namespace].Skeleton
	if skeleton == nil {
		return nil
	}
	var alike []Name
	for other, name := range m.names {
		if other != key && other.Namespace == key.Namespace && !nobodyHas(name) &&
			skeleton.Skeleton(other.Canonical) == skeleton.Skeleton(key.Canonical) {
			alike = append(alike, name)
		}
	}
	return alike
}

// confusable refuses a name to an entity, or to nobody in particular, while one that
// looks like it is another's, or may become it.
func (m *Model) confusable(key Key, entity dibs.Entity) *Refusal {
	for _, name := range m.lookAlikes(key) {
		whose := name.Owner
		if alive(name) {
			whose = name.Intended
		}
		if whose == (dibs.Entity{}) || whose != entity {
			return &Refusal{Code: dibs.CodeNameTaken, Reason: dibs.ReasonConfusable}
		}
	}
	return nil
}

// crowded refuses one more name of those that look alike.
func (m *Model) crowded(key Key) *Refusal {
	if len(m.lookAlikes(key)) >= maxLookAlikes {
		return refuse(dibs.CodeTooLarge)
	}
	return nil
}

// free says why an entity, or nobody in particular, cannot take a name: it is taken,
// or else one that looks like it is.
func (m *Model) free(key Key, entity dibs.Entity) *Refusal {
	if refused := m.taken(key, entity); refused != nil {
		return refused
	}
	return m.confusable(key, entity)
}
