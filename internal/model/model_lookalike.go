package model

import "github.com/calldibs/dibs"

// maxLookAlikes is how many look-alikes an entity may have.
const maxLookAlikes = 32

// lookAlikes returns the other names that look like this one and are not free.
func (m *Model) lookAlikes(key Key) []Name {
	skeleton := m.policies[key.Namespace].Skeleton
	if skeleton == nil {
		return nil
	}
	var alike []Name
	for other, name := range m.names {
		if other != key && other.Namespace == key.Namespace && !isFree(name) &&
			skeleton.Skeleton(other.Canonical) == skeleton.Skeleton(key.Canonical) {
			alike = append(alike, name)
		}
	}
	return alike
}

// confusable refuses a name to an entity, or to any caller if entity is zero, while a
// look-alike has, or may get, another owner.
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

// crowded refuses a look-alike beyond the limit.
func (m *Model) crowded(key Key) *Refusal {
	if len(m.lookAlikes(key)) >= maxLookAlikes {
		return refuse(dibs.CodeTooLarge)
	}
	return nil
}

// free returns why an entity, or any caller if entity is zero, cannot take a name: it is
// taken, or a look-alike is.
func (m *Model) free(key Key, entity dibs.Entity) *Refusal {
	if refused := m.taken(key, entity); refused != nil {
		return refused
	}
	return m.confusable(key, entity)
}
