package generation_test

import (
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/generation"
)

func TestMapKeepsTheLatest(t *testing.T) {
	t.Parallel()
	const size = 10
	m := generation.Map[int, string]{Size: size}
	for i := range 10 * size {
		m.Put(i, "x")
		for kept := max(0, i-size+1); kept <= i; kept++ {
			if _, ok := m.Get(kept); !ok {
				t.Fatalf("after %d entries: entry %d is missing", i+1, kept)
			}
		}
		if m.Len() > 2*size {
			t.Fatalf("%d entries are kept, want at most %d", m.Len(), 2*size)
		}
	}
	if _, ok := m.Get(0); ok {
		t.Error("the oldest entry is still there")
	}
}

func TestMapReplacesAndDeletes(t *testing.T) {
	t.Parallel()
	m := generation.Map[string, int]{Size: 1}
	if _, ok := m.Get("a"); ok {
		t.Error("an empty map has an entry")
	}
	m.Put("a", 1)
	m.Put("a", 2) // the first value is in the old generation now
	if got, ok := m.Get("a"); got != 2 || !ok {
		t.Errorf("got %d, %v, want the latest value", got, ok)
	}
	m.Delete("a")
	if got, ok := m.Get("a"); ok {
		t.Errorf("got %d after Delete", got)
	}
}

func TestMapMaxAge(t *testing.T) {
	t.Parallel()
	start := time.Now()
	for after, want := range map[time.Duration]bool{
		0: true, time.Minute: true, 2*time.Minute - 1: true, 2 * time.Minute: false, time.Hour: false,
	} {
		m := generation.Map[string, int]{Size: 10, MaxAge: time.Minute}
		m.PutAt("a", 1, start)
		m.Expire(start.Add(after))
		if _, ok := m.Get("a"); ok != want {
			t.Errorf("after %v: found %v, want %v", after, ok, want)
		}
	}
}

// A generation that ends by its size starts the time of the next one anew.
func TestMapMaxAgeAfterAFullGeneration(t *testing.T) {
	t.Parallel()
	start := time.Now()
	m := generation.Map[string, int]{Size: 1, MaxAge: time.Minute}
	m.PutAt("a", 1, start)
	m.PutAt("b", 2, start.Add(59*time.Second))
	m.Expire(start.Add(time.Minute))
	if _, ok := m.Get("a"); !ok {
		t.Error("the old generation ended with the time of the young one")
	}
}
