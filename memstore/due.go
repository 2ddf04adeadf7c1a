package memstore

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/calldibs/dibs"
)

// dates orders records by their Due dates. An entry whose record has another date by now, or
// none, is dropped when it is next in order, or when such entries are in the majority.
type dates struct {
	of    map[key]dibs.Instant
	queue dateQueue // a heap; it has all of them
}

type date struct {
	at  dibs.Instant
	key key
}

// set sets the date of a record; zero means none.
func (d *dates) set(k key, at dibs.Instant) {
	if at == 0 {
		delete(d.of, k)
		return
	}
	d.of[k] = at
	heap.Push(&d.queue, date{at, k})
	if len(d.queue) > 2*len(d.of)+1000 {
		d.queue = d.queue[:0]
		for k, at := range d.of {
			d.queue = append(d.queue, date{at, k})
		}
		heap.Init(&d.queue)
	}
}

// until returns the records with a date at or before an instant, earliest first, up to a limit.
func (d *dates) until(at dibs.Instant, limit int) (keys []key) {
	var found []date
	for len(d.queue) > 0 && d.queue[0].at <= at && len(found) < limit {
		next := heap.Pop(&d.queue).(date)
		// A record that was deleted and made again may have the same date twice.
		if d.of[next.key] == next.at && (len(found) == 0 || found[len(found)-1] != next) {
			found = append(found, next)
		}
	}
	for _, f := range found {
		heap.Push(&d.queue, f)
		keys = append(keys, f.key)
	}
	return keys
}

// dateQueue implements [heap.Interface].
type dateQueue []date

func (q dateQueue) Len() int      { return len(q) }
func (q dateQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *dateQueue) Push(x any)   { *q = append(*q, x.(date)) }

func (q dateQueue) Less(i, j int) bool {
	a, b := &q[i], &q[j]
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.key.kind, b.key.kind), slices.Compare(a.key.id[:], b.key.id[:])) < 0
}

func (q *dateQueue) Pop() any {
	last := len(*q) - 1
	popped := (*q)[last]
	*q = (*q)[:last]
	return popped
}
