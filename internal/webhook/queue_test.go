package webhook

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/calldibs/dibs"
)

// After any steps, at most one event of a key is being sent, and it is the first; and the saved
// position is enough to find all events again.
func TestQueueProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var (
			q    queue
			now  = time.Unix(1000, 0)
			feed []*dibs.Event
			done = make(map[dibs.Cursor]bool) // delivered or given up
		)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0: // an event is read
				e := &dibs.Event{Cursor: dibs.Cursor(fmt.Sprintf("%03d", len(feed)+1)), ID: dibs.ID{byte(rapid.IntRange(1, 4).Draw(t, "key"))}}
				feed = append(feed, e)
				q.add(e, q.head)
				q.head = e.Cursor
			case 1: // due events are sent
				for _, it := range q.due(now, rapid.IntRange(0, 3).Draw(t, "limit")) {
					it.sending = true
				}
			case 2: // a response arrives
				i := slices.IndexFunc(q.items, func(it *item) bool { return it.sending })
				if i < 0 {
					continue
				}
				it := q.items[i]
				it.sending = false
				if rapid.Bool().Draw(t, "accepted") {
					done[it.event.Cursor] = true
					q.remove(it)
				} else {
					it.attempts++
					it.next = now.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "pause")) * time.Second)
				}
			case 3:
				now = now.Add(time.Second)
			}
			checkQueue(t, &q)
			checkPosition(t, &q, feed, done)
		}
	})
}

func checkQueue(t *rapid.T, q *queue) {
	first := make(map[string]*item)
	for _, it := range q.items {
		if first[it.key] == nil {
			first[it.key] = it
		}
		if it.sending && first[it.key] != it {
			t.Fatalf("%s is sent before %s, of the same key", it.event.Cursor, first[it.key].event.Cursor)
		}
	}
}

// checkPosition checks that the position finds exactly the events that are not done.
func checkPosition(t *rapid.T, q *queue, feed []*dibs.Event, done map[dibs.Cursor]bool) {
	cursor, list := q.position()
	again := make(map[dibs.Cursor]bool)
	for _, w := range list {
		again[w.Cursor] = true
	}
	for _, e := range feed {
		if e.Cursor > cursor {
			again[e.Cursor] = true
		}
	}
	for _, e := range feed {
		if again[e.Cursor] == done[e.Cursor] {
			t.Fatalf("%s is done: %v, found again: %v; cursor %s, waiting %v", e.Cursor, done[e.Cursor], again[e.Cursor], cursor, list)
		}
	}
}

// A pause differs by at most a fifth from the list, and the last one repeats.
func TestPauses(t *testing.T) {
	t.Parallel()
	list := []time.Duration{time.Second, time.Minute}
	for failures, want := range map[int]time.Duration{0: time.Second, 1: time.Second, 2: time.Minute, 3: time.Minute, 1000: time.Minute} {
		for range 100 {
			if got := pauseAfter(list, failures); got < want*8/10 || got > want*12/10 {
				t.Fatalf("after %d failures: %s", failures, got)
			}
		}
	}
}

// Documents of earlier versions can be read, and are written in the same form.
func TestStoredForm(t *testing.T) {
	t.Parallel()
	for text, content := range map[string]any{
		`{"url":"https://example.com/","description":"d","namespaces":["*"],"kinds":["claimed"],"enabled":false,` +
			`"stopped":"gone","createdBy":"ann","createdAt":1,"secrets":[{"text":"whsec_a"},{"text":"whsec_b","until":2}],"nudged":3}`: new(Hook),
		`{"owner":"o","cursor":"c","waiting":[{"after":"a","cursor":"b","attempts":1,"first":2,"next":3}],"failures":4,"pausedUntil":5,` +
			`"nudged":6,"delivered":7,"failed":8,"lastSuccess":9,"lastFailure":10,"lastError":"e","oldest":11}`: new(state),
		`{"kind":"claimed","where":"slug","eventAt":1,"deadAt":2,"attempts":3,"error":"e","after":"a","cursor":"b"}`: new(DeadLetter),
		`{"last":3,"count":2,"dropped":1}`: new(deadLetterCount),
		`{"owner":"o","until":1}`:          new(leaseContent),
	} {
		if err := json.Unmarshal([]byte(text), content); err != nil {
			t.Error(err)
		}
		if got, err := json.Marshal(content); err != nil || string(got) != text {
			t.Errorf("%T is stored as\n%s, %v, want\n%s", content, got, err, text)
		}
	}
}
