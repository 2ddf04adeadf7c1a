//go:build unix

package torture

import "testing"

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
