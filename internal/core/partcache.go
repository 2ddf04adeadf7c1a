package core

import (
	"sync"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/generation"
)

// partCacheSize is the number of reservations in a generation of the cache. It has two.
const partCacheSize = 1 << 15

// partEntry says where a reservation is stored.
type partEntry struct {
	part      int
	namespace string
}

// partCache remembers where reservations are stored. An ID is a hash of namespace and
// canonical form, so an entry stays right even if the name is deleted and reserved again. It
// is safe for concurrent use.
type partCache struct {
	mu      sync.Mutex
	entries generation.Map[dibs.ID, partEntry]
}

func newPartCache() *partCache {
	return &partCache{entries: generation.Map[dibs.ID, partEntry]{Size: partCacheSize}}
}

func (c *partCache) get(id dibs.ID) (entry partEntry, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.entries.Get(id)
}

func (c *partCache) put(id dibs.ID, entry partEntry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries.Put(id, entry)
}

// note remembers where the names of results are stored.
func (c *partCache) note(results []dibs.Result, part int) {
	for _, result := range results {
		for _, n := range result.Names {
			c.put(n.ID, partEntry{part, n.Namespace})
		}
	}
}
