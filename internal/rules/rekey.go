package rules

import (
	"slices"

	"github.com/calldibs/dibs"
)

func (p *preparer) rekey(c dibs.Rekey) (decision, *dibs.Error) {
	t, canonical, err := p.locate(c.Namespace, c.Value, "")
	if err == nil {
		err = t.setSkeletons(canonical)
	}
	if err != nil {
		return nil, err
	}
	if !t.policy.blind() {
		return nil, t.refuse(dibs.CodeInvalidNamespace, "%s has no keys: Rekey works in blind namespaces only", t.namespace)
	}
	for _, key := range slices.Concat(t.hashes, t.skeletons) {
		p.want(key.Ref)
	}
	p.want(namespaceRecordRef(t.namespaceInfo))
	return func(v *view) (dibs.Result, *dibs.Error) {
		if v.hasNoRow(t) {
			return dibs.Result{}, t.refuse(dibs.CodeNotFound, "%s is free", t.key())
		}
		n := v.name(t)
		if v.isIndexed(n, t) {
			return v.result(true, n), nil
		}
		record, err := v.recordForNewName(t)
		if err != nil {
			return dibs.Result{}, err
		}
		v.addToIndex(n, t, record)
		v.saveQuietly(n)
		return v.result(false, n), nil
	}, nil
}
