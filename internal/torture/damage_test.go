//go:build unix

package torture

import (
	"bytes"
	"testing"
)

// What a damaged copy says is right, older, or lacks something; anything else is noticed.
func TestReadings(t *testing.T) {
	t.Parallel()
	sound := reading{name: "active of user/1", state: "active", history: []string{"claimed", "revived"}, last: "active"}
	for what, c := range map[string]struct {
		got               reading
		is, before, lacks bool
	}{
		"the same":           {sound, true, true, true},
		"older":              {reading{name: "held", state: "held", history: []string{"claimed"}, last: "held"}, false, true, false},
		"nothing yet":        {reading{}, false, true, true},
		"another owner":      {reading{name: "active of user/2", state: "of user/2", history: sound.history, last: "active"}, false, false, false},
		"another history":    {reading{name: sound.name, state: "active", history: []string{"claimed", "given up"}, last: "active"}, false, false, false},
		"a lost name":        {reading{history: []string{"claimed"}, last: "held"}, false, false, true},
		"a gap":              {reading{name: sound.name, state: "active", history: []string{"revived"}, last: "active"}, false, false, true},
		"state of the past":  {reading{name: "free", state: "free", history: sound.history, last: "active"}, false, false, false},
		"more than happened": {reading{name: sound.name, state: "active", history: []string{"claimed", "revived", "x"}, last: "active"}, false, false, false},
	} {
		if is, before, lacks := c.got.is(sound), c.got.isBefore(sound), c.got.lacks(sound); is != c.is || before != c.before || lacks != c.lacks {
			t.Errorf("%s: is %v, before %v, lacks %v", what, is, before, lacks)
		}
	}
}

func TestHiddenCommits(t *testing.T) {
	t.Parallel()
	const frame = 24 + 2048
	journal := make([]byte, 32+8*frame)
	copy(journal[16:], "saltsalt")
	for i := range 6 { // the last two are from before it started over
		at := 32 + i*frame
		copy(journal[at+8:], "saltsalt")
		journal[at+7] = byte(i % 2) // the second one of each two ends a transaction
	}
	for name, c := range map[string]struct {
		at   int
		want bool
	}{
		"header": {3, true}, "first transaction": {32 + frame + 100, true}, "second": {32 + 2*frame, true}, "end of the second": {32 + 3*frame, false}, "third": {32 + 5*frame, false}, "former": {32 + 6*frame, false},
	} {
		damaged := bytes.Clone(journal)
		damaged[c.at] ^= 1
		if hidesCommits(journal, damaged) != c.want {
			t.Errorf("%s: want %v", name, c.want)
		}
	}
	if hidesCommits(journal, journal) || hidesCommits(journal, journal[:100]) {
		t.Error("a sound journal, or one that was cut off, hides commits")
	}
}
