package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/calldibs/dibs/internal/limit"
)

const holdersToken = "the-holders-own-token"

// hold reserves a name and returns its id.
func (r *rig) hold(key, address, value string) string {
	r.Helper()
	h := as(key, address)
	h.Set("Idempotency-Key", holdersToken)
	res, text := r.send(http.MethodPost, "/v1/reservations", h, fmt.Sprintf(`{"namespace": "slug", "value": %q}`, value))
	var hold struct{ ReservationID string }
	if err := json.Unmarshal([]byte(text), &hold); err != nil || res.status != http.StatusCreated {
		r.Fatalf("%d %s", res.status, text)
	}
	return hold.ReservationID
}

// try sends a token for a reservation, and returns the status.
func (r *rig) try(key, address, id, verb, token string) int {
	r.Helper()
	res, text := r.send(http.MethodPost, "/v1/reservations/"+id+"/"+verb, as(key, address),
		fmt.Sprintf(`{"token": %q%s}`, token, map[string]string{"confirm": `, "entity": {"type": "wedding", "id": "42"}`}[verb]))
	if res.status == http.StatusTooManyRequests {
		r.wantLimited(res, text, "wrongTokens")
	}
	return res.status
}

func guess(i int) string { return fmt.Sprintf("a-guess-of-a-token-%d", i) }

// A caller that guesses tokens is soon rejected, and the holder never: neither if the guesses come
// with another key or address, nor if they come through the same application.
func TestGuessersDoNotLockOutTheHolder(t *testing.T) {
	t.Parallel()
	const home, elsewhere = "203.0.113.1", "203.0.113.2"
	for _, c := range []struct{ what, guesser, address string }{
		{"another key", "mallory", home},
		{"another address", "ann", elsewhere},
		{"the same application", "ann", home},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, inMemory, people("ann", "mallory"), limited(limit.Limits{WrongTokens: perHour(10)}))
			id, other := r.hold("ann", home, "wanted"), r.hold("ann", home, "other")
			verbs := []string{"confirm", "extend", "release"}
			for i := range 10 {
				if status := r.try(c.guesser, c.address, id, verbs[i%3], guess(i)); status != http.StatusConflict {
					t.Fatalf("guess %d is %d", i, status)
				}
			}
			for i := range 20 {
				if status := r.try(c.guesser, c.address, id, verbs[i%3], guess(10+i)); status != http.StatusTooManyRequests {
					t.Fatalf("guess %d is %d", 10+i, status)
				}
			}
			apply := fmt.Sprintf(`{"dryRun": true, "commands": [{"op": "release", "reservationId": %q, "token": %q}]}`, id, guess(99))
			if res, text := r.send(http.MethodPost, "/v1/apply", as(c.guesser, c.address), apply); res.status != http.StatusTooManyRequests {
				t.Errorf("a guess in a list is %d %s", res.status, text)
			}
			if status := r.try(c.guesser, c.address, other, "extend", guess(0)); status != http.StatusConflict {
				t.Errorf("for another reservation it is %d", status)
			}
			for _, verb := range []string{"extend", "confirm"} {
				if status := r.try("ann", home, id, verb, holdersToken); status != http.StatusOK {
					t.Errorf("the holder's %s is %d", verb, status)
				}
			}
			if got := r.metric(`dibs_requests_limited_total{reason="wrong_token"}`); got != 21 {
				t.Errorf("%v were counted", got)
			}
		})
	}
}

// Guesses in lists count like others.
func TestGuessesInLists(t *testing.T) {
	t.Parallel()
	r := newRig(t, inMemory, people("ann", "mallory"), limited(limit.Limits{WrongTokens: perHour(3)}))
	a, b := r.hold("ann", "", "a"), r.hold("ann", "", "b")
	list := func(token string) int {
		res, _ := r.send(http.MethodPost, "/v1/apply", as("mallory", ""), fmt.Sprintf(
			`{"commands": [{"op": "release", "reservationId": %q, "token": %q}, {"op": "release", "reservationId": %q, "token": %q}]}`, a, token, b, token))
		return res.status
	}
	for i := range 3 {
		if status := list(guess(i)); status != http.StatusConflict {
			t.Fatalf("list %d is %d", i, status)
		}
	}
	if status := list(guess(3)); status != http.StatusTooManyRequests {
		t.Errorf("it is %d", status)
	}
	if status := r.try("mallory", "", a, "release", guess(4)); status != http.StatusTooManyRequests {
		t.Errorf("alone it is %d", status)
	}
}

// A list cannot contain more guesses than the caller has left.
func TestGuessesInOneList(t *testing.T) {
	t.Parallel()
	r := newRig(t, inMemory, people("ann", "mallory"), limited(limit.Limits{WrongTokens: perHour(10)}))
	id := r.hold("ann", "", "wanted")
	list := func(key string, tokens ...string) (int, string) {
		ops := make([]string, len(tokens))
		for i, token := range tokens {
			switch verb := []string{"release", "extend", "rename"}[i%3]; verb {
			case "rename":
				ops[i] = fmt.Sprintf(`{"op": "rename", "namespace": "slug", "value": "Wanted", "entity": {"type": "wedding", "id": "42"}, "token": %q}`, token)
			default:
				ops[i] = fmt.Sprintf(`{"op": %q, "reservationId": %q, "token": %q}`, verb, id, token)
			}
		}
		res, text := r.send(http.MethodPost, "/v1/apply", as(key, ""), `{"dryRun": true, "commands": [`+strings.Join(ops, ", ")+`]}`)
		return res.status, text
	}
	guesses := make([]string, 32)
	for i := range guesses {
		guesses[i] = guess(i)
	}
	if status, text := list("mallory", guesses...); status != http.StatusTooManyRequests || strings.Contains(text, "RESERVATION_LOST") {
		t.Errorf("32 guesses are %d %s", status, text)
	}
	if status, text := list("mallory", guesses[:7]...); status != http.StatusConflict {
		t.Errorf("7 guesses are %d %s", status, text)
	}
	if status, text := list("mallory", guesses[7:11]...); status != http.StatusTooManyRequests {
		t.Errorf("4 more are %d %s", status, text)
	}
	if status, text := list("mallory", guesses[7:10]...); status != http.StatusConflict {
		t.Errorf("3 more are %d %s", status, text)
	}
	if status := r.try("mallory", "", id, "release", guess(11)); status != http.StatusTooManyRequests {
		t.Errorf("another is %d", status)
	}
	// A repeated token is one guess, and a token known to be right is none.
	if status, text := list("ann", holdersToken, holdersToken, holdersToken); status == http.StatusTooManyRequests {
		t.Errorf("the holder's are %d %s", status, text)
	}
}

// A rename with a token counts as a guess, in every spelling of the name.
func TestGuessesByRename(t *testing.T) {
	t.Parallel()
	r := newRig(t, inMemory, people("ann", "mallory"), limited(limit.Limits{WrongTokens: perHour(3)}))
	r.hold("ann", "", "wanted")
	rename := func(key, value, token string) int {
		member := ""
		if token != "" {
			member = fmt.Sprintf(`, "token": %q`, token)
		}
		res, _ := r.send(http.MethodPut, "/v1/entities/wedding/42/names/slug", as(key, ""), fmt.Sprintf(`{"value": %q%s}`, value, member))
		return res.status
	}
	for i, value := range []string{"wanted", "Wanted", "WANTED"} {
		if status := rename("mallory", value, ""); status != http.StatusConflict {
			t.Errorf("without a token it is %d", status)
		}
		if status := rename("mallory", value, guess(i)); status != http.StatusConflict {
			t.Errorf("guess %d is %d", i, status)
		}
	}
	if status := rename("mallory", "wanted ", guess(3)); status != http.StatusTooManyRequests {
		t.Errorf("one more is %d", status)
	}
	if status := rename("mallory", "wanted", ""); status != http.StatusConflict {
		t.Errorf("without a token it is %d", status)
	}
	if status := rename("ann", "wanted", holdersToken); status != http.StatusOK {
		t.Errorf("the holder's is %d", status)
	}
}

// A token of an ended hold is not a guess, and neither are other refusals.
func TestOtherRefusalsAreNoGuesses(t *testing.T) {
	t.Parallel()
	r := newRig(t, inMemory, people("ann"), limited(limit.Limits{WrongTokens: perHour(3)}))
	id := r.hold("ann", "", "a")
	if status := r.try("ann", "", id, "release", holdersToken); status != http.StatusOK {
		t.Fatal(status)
	}
	for range 10 {
		if status := r.try("ann", "", id, "confirm", holdersToken); status != http.StatusConflict {
			t.Fatal(status)
		}
		if status := r.try("ann", "", id, "confirm", "short"); status != http.StatusUnprocessableEntity {
			t.Fatal(status)
		}
	}
}
