package dibs

import "sync"

// whereaboutsKept is how many reservations make a generation; two of them are kept.
const whereaboutsKept = 1 << 15

// whereabouts remembers which part has a reservation. Its ID is a hash of its key, and the
// key has the scope in it: so what is remembered stays right, also when the name is gone
// and comes again.
type whereabouts struct {
	mu         sync.Mutex
	young, old map[ID]int
}

func (w *whereabouts) get(id ID) (part int, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if part, known = w.young[id]; known {
		return part, true
	}
	part, known = w.old[id]
	return part, known
}

func (w *whereabouts) put(id ID, part int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.young == nil || len(w.young) >= whereaboutsKept {
		w.young, w.old = make(map[ID]int), w.young
	}
	w.young[id] = part
}

// note remembers where commands found their names.
func (w *whereabouts) note(results []Result, part int) {
	for _, result := range results {
		for _, n := range result.Names {
			w.put(n.ID, part)
		}
	}
}
