package core

import (
	"sync"

	"github.com/calldibs/dibs"
)

// partCacheSize is how many reservations one generation of the cache has; there are two.
const partCacheSize = 1 << 15

// partOf is where a reservation is stored.
type partOf struct {
	part      int
	namespace string
}

// partCache remembers where reservations are stored. An ID is a hash of its key, and the
// namespace is part of the key: so an entry stays right, also when the name is gone and comes
// again.
type partCache struct {
	mu         sync.Mutex
	young, old map[dibs.ID]partOf
}

func (c *partCache) get(id dibs.ID) (at partOf, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, known = c.young[id]; known {
		return at, true
	}
	at, known = c.old[id]
	return at, known
}

func (c *partCache) put(id dibs.ID, at partOf) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.young == nil || len(c.young) >= partCacheSize {
		c.young, c.old = make(map[dibs.ID]partOf), c.young
	}
	c.young[id] = at
}

// note remembers where commands found their names.
func (c *partCache) note(results []dibs.Result, part int) {
	for _, result := range results {
		for _, n := range result.Names {
			c.put(n.ID, partOf{part, n.Namespace})
		}
	}
}
