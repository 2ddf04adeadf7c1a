package core

import (
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/generation"
	"github.com/calldibs/dibs/internal/rules"
)

const (
	// recordCacheSize is the number of records in a generation of the cache. It has two.
	recordCacheSize = 4096
	// recordCacheAge ends a generation that is not full. An engine may lose commits, for
	// example in a failover, and use their revisions again, so the cache keeps no record for
	// long.
	recordCacheAge = 30 * time.Second
)

// recordCache remembers records that were recently loaded or committed. A record may be out
// of date: Commit checks the revision that a decision rests on.
type recordCache struct {
	records generation.Map[rules.Key, dibs.Record]
}

func newRecordCache() recordCache {
	return recordCache{generation.Map[rules.Key, dibs.Record]{Size: recordCacheSize, MaxAge: recordCacheAge}}
}

// get returns the remembered record, or nil.
func (c *recordCache) get(key rules.Key) dibs.Record {
	r, _ := c.records.Get(key)
	return r
}

// put remembers a record, unless the cache has a later revision of it.
func (c *recordCache) put(r dibs.Record, now time.Time) {
	key := rules.KeyOf(r.Ref())
	switch known := c.get(key); {
	case known != nil && known.Revision() > r.Revision():
	case cacheable(r):
		c.records.PutAt(key, r, now)
	default:
		c.forget(key)
	}
}

// cacheable reports whether a record is small, as nearly all are, and never starts again at
// revision 1. Documents that are swept do, and so do forgotten entities.
func cacheable(r dibs.Record) bool {
	switch r := r.(type) {
	case *dibs.NameRecord:
		return len(r.Meta) <= 4
	case *dibs.EntityRecord:
		return len(r.Active) <= 32 && !r.Entity.IsZero()
	case *dibs.Document:
		return len(r.Data) <= 4096 && r.Due == 0
	default:
		return false
	}
}

// expire drops records that are too old to guess by.
func (c *recordCache) expire(now time.Time) { c.records.Expire(now) }

func (c *recordCache) forget(key rules.Key) { c.records.Delete(key) }
