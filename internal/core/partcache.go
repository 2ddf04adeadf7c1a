package core

import (
	"sync"
	"time"

	"github.com/calldibs/dibs"
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
	entries generationMap[dibs.ID, partEntry]
}

func newPartCache() *partCache {
	return &partCache{entries: generationMap[dibs.ID, partEntry]{Size: partCacheSize}}
}

func (c *partCache) get(id dibs.ID) (entry partEntry, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.entries.Get(id)
}

func (c *partCache) put(id dibs.ID, entry partEntry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries.PutAt(id, entry, time.Time{})
}

// note remembers where the names of results are stored.
func (c *partCache) note(results []dibs.Result, part int) {
	for _, result := range results {
		for _, n := range result.Names {
			c.put(n.ID, partEntry{part, n.Namespace})
		}
	}
}
