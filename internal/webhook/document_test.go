package webhook

import (
	"encoding/json"
	"testing"
)

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
