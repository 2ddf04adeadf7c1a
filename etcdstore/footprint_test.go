package etcdstore

import (
	"fmt"
	"testing"
)

// A read from before a commit that arrives after it is ignored.
func TestFootprintsKeepTheLatest(t *testing.T) {
	t.Parallel()
	k := newFootprints()
	k.put("a", footprint{rev: 2, mod: 20})
	k.put("a", footprint{rev: 1, mod: 10})
	if f, ok := k.get("a", 2); !ok {
		t.Errorf("revision %d, want 2", f.rev)
	}
	k.put("a", footprint{rev: 1, mod: 30}) // deleted and created again
	if f, _ := k.get("a", 1); f.mod != 30 {
		t.Errorf("etcd's revision %d, want 30", f.mod)
	}
	k.remove("a")
	if _, ok := k.get("a", 1); ok {
		t.Error("it is still cached")
	}
}

func TestFootprintsAreBounded(t *testing.T) {
	t.Parallel()
	k := newFootprints()
	for i := range 5 * maxFootprints {
		k.put(fmt.Sprint(i), footprint{rev: 1, mod: 1})
	}
	if n := k.byKey.Len(); n > 2*maxFootprints {
		t.Errorf("%d footprints, more than %d", n, 2*maxFootprints)
	}
	if _, ok := k.get(fmt.Sprint(5*maxFootprints-1), 1); !ok {
		t.Error("the last one is missing")
	}
}
