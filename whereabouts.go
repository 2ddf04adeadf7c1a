package dibs

import "sync"

// whereaboutsKept is how many reservations make a generation; two of them are kept.
const whereaboutsKept = 1 << 15

// whereabout is where a reservation is.
type whereabout struct {
	part      int
	namespace string
}

// whereabouts remembers where reservations are. An ID is a hash of its key, and the key
// has the namespace in it: so what is remembered stays right, also when the name is gone
// and comes again.
type whereabouts struct {
	mu         sync.Mutex
	young, old map[ID]whereabout
}

func (w *whereabouts) get(id ID) (at whereabout, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if at, known = w.young[id]; known {
		return at, true
	}
	at, known = w.old[id]
	return at, known
}

func (w *whereabouts) put(id ID, at whereabout) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.young == nil || len(w.young) >= whereaboutsKept {
		w.young, w.old = make(map[ID]whereabout), w.young
	}
	w.young[id] = at
}

// note remembers where commands found their names.
func (w *whereabouts) note(results []Result, part int) {
	for _, result := range results {
		for _, n := range result.Names {
			w.put(n.ID, whereabout{part, n.Namespace})
		}
	}
}
