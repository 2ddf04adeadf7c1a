package etcdstore

import (
	"fmt"
	"testing"
)

// What was read before a commit, and arrives after it, is not believed.
func TestKnownKeepsTheLatest(t *testing.T) {
	t.Parallel()
	var k known
	k.put("a", footprint{rev: 2, mod: 20})
	k.put("a", footprint{rev: 1, mod: 10})
	if f, ok := k.get("a"); !ok || f.rev != 2 {
		t.Errorf("revision %d, want 2", f.rev)
	}
	k.put("a", footprint{rev: 1, mod: 30}) // deleted and made anew
	if f, _ := k.get("a"); f.mod != 30 {
		t.Errorf("etcd's revision %d, want 30", f.mod)
	}
	k.forget("a")
	if _, ok := k.get("a"); ok {
		t.Error("it is still known")
	}
}

func TestKnownHasBounds(t *testing.T) {
	t.Parallel()
	var k known
	for i := range 5 * knownRoom {
		k.put(fmt.Sprint(i), footprint{rev: 1, mod: 1})
	}
	if n := len(k.young) + len(k.old); n > 2*knownRoom {
		t.Errorf("%d are known, more than %d", n, 2*knownRoom)
	}
	if _, ok := k.get(fmt.Sprint(5*knownRoom - 1)); !ok {
		t.Error("the last one is not known")
	}
}
