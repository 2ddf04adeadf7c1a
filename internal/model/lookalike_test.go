package model_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/model"
)

// looking is the test's own skeleton: it ignores case, and digits look like letters.
type looking struct{}

func (looking) Name() string { return "looking/1" }

func (looking) Skeleton(canonical string) string {
	return strings.NewReplacer("A", "a", "4", "a", "0", "o").Replace(canonical)
}

// checkLookAlikes checks the purpose of the look-alike rule, independent of the model: look-alikes
// never have two owners. A hold that names no entity may get any owner, so it has no
// look-alikes.
func (w *world) checkLookAlikes(s *side) {
	for _, namespace := range namespaces {
		if w.policies[namespace].Skeleton == nil || namespace == w.changing { // existing look-alikes may stay
			continue
		}
		whose := make(map[string]dibs.Name)
		for _, value := range takeable {
			n, err := s.registry.Get(context.Background(), dibs.Lookup{Namespace: namespace, Value: value})
			if err != nil || n.State == dibs.Free {
				continue
			}
			key, _ := w.key(namespace, value)
			skeleton := looking{}.Skeleton(key.Canonical)
			other, seen := whose[skeleton]
			forgotten := n.Canonical == "" && other.Canonical == "" // one entity's, but the entity is erased
			if seen && other.ID != n.ID && !forgotten && (other.Entity != n.Entity || n.Entity == noEntity) {
				w.t.Fatalf("%s of %q looks like %s of %q", n.Key(), n.Entity.ID, other.Key(), other.Entity.ID)
			}
			whose[skeleton] = n
		}
	}
}

// The pools above are too small to exceed the limit of look-alikes. Here one entity takes
// and gives up only look-alikes, and another one tries to.
func TestManyLookAlikes(t *testing.T) {
	t.Parallel()
	policy := dibs.Policy{
		Profile: dibs.Exact, Skeleton: looking{}, ManyPerEntity: true, Quarantine: time.Second,
		MinTTL: time.Second, DefaultTTL: 10 * time.Second, MaxTTL: time.Minute, MaxHold: time.Hour, HoldHistory: time.Hour,
	}
	var pool []string
	for i := range 64 {
		pool = append(pool, strings.NewReplacer("1", "o").Replace(fmt.Sprintf("%06b", i)))
	}
	rapid.Check(t, func(t *rapid.T) {
		w := &world{t: t, start: 1_700_000_000_000, now: 1_700_000_000_000, policies: map[string]dibs.Policy{"one": policy}}
		w.model = model.New(w.policies, scopes, entities)
		w.open(false, nil)
		defer w.close()
		for _, value := range pool[:rapid.IntRange(29, 32).Draw(t, "to begin with")] {
			w.apply(false, dibs.Claim{Namespace: "one", Value: value, Entity: entities[0]})
		}
		for range 12 {
			value, entity := draw(w, "value", pool[24:40]...), draw(w, "entity", entities[0], entities[0], entities[0], entities[1])
			switch draw(w, "command", "claim", "reserve", "first", "rename", "give up", "wait") {
			case "claim":
				w.apply(false, dibs.Claim{Namespace: "one", Value: value, Entity: entity})
			case "reserve":
				w.apply(false, dibs.Reserve{Namespace: "one", Value: value, Entity: entity, Token: w.drawToken()})
			case "first":
				values := []string{value, draw(w, "value", pool...)}
				w.apply(false, dibs.ReserveFirst{Namespace: "one", Values: values, Entity: entity, Token: w.drawToken()})
			case "rename":
				w.apply(false, dibs.Rename{Namespace: "one", Value: value, From: pool[0], Entity: entity})
			case "give up":
				w.apply(false, dibs.Decommission{Namespace: "one", Value: value, Entity: entity})
			case "wait":
				w.now += draw[int64](w, "pause", 999, 1000, 10_000)
			}
		}
	})
}
