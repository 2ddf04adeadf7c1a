package dibsclient_test

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibsclient"
)

// lossyTransport loses the response to the first request, or the request itself. Before it
// returns the error it calls between.
type lossyTransport struct {
	between  func()
	unsent   bool // the request is lost
	requests atomic.Int32
}

func (f *lossyTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	first := f.requests.Add(1) == 1
	if first && f.unsent {
		f.between()
		return nil, io.ErrUnexpectedEOF
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || !first {
		return response, err
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	f.between()
	return nil, io.ErrUnexpectedEOF
}

// apply runs commands, or fails the test.
func apply(t *testing.T, reg *dibs.Registry, commands ...dibs.Command) {
	t.Helper()
	for _, command := range commands {
		if _, err := reg.Apply(t.Context(), command); err != nil {
			t.Fatalf("%T: %v", command, err)
		}
	}
}

// The first attempt is applied, its response is lost, and another caller changes the same
// name. The client does not undo that change.
func TestKeepsLaterChanges(t *testing.T) {
	t.Parallel()
	claim := func(value string, entity dibs.Entity) dibs.Command {
		return dibs.Claim{Namespace: "slug", Value: value, Entity: entity}
	}
	rename := func(value string) dibs.Command { return dibs.Rename{Namespace: "slug", Entity: user1, Value: value} }
	transfer := func(value string, from, to dibs.Entity) dibs.Command {
		return dibs.Transfer{Namespace: "slug", Value: value, From: from, To: to}
	}
	decommission := dibs.Decommission{Namespace: "slug", Value: "a", Entity: user1}
	swap := func(a, b string) dibs.Command {
		return dibs.Swap{Namespace: "slug", A: dibs.Named{Value: a, Entity: user1}, B: dibs.Named{Value: b, Entity: user2}}
	}
	var none dibs.Entity
	type list = []dibs.Command
	tests := []struct {
		name    string
		before  list
		command dibs.Command
		between list
		value   string
		want    dibs.Entity // the owner of the value at the end
	}{
		{"delete", list{claim("a", user1)}, dibs.Delete{Entity: user1}, list{claim("b", user1)}, "b", user1},
		{"rename", list{claim("a", user1)}, rename("b"), list{rename("c")}, "c", user1},
		{"decommission", list{claim("a", user1)}, decommission, list{claim("a", user1)}, "a", user1},
		{"claim", nil, claim("a", user1), list{decommission}, "a", none},
		{"archive", list{claim("a", user1)}, dibs.Archive{Entity: user1}, list{dibs.Restore{Entity: user1}}, "a", user1},
		{"restore", list{claim("a", user1), dibs.Archive{Entity: user1}}, dibs.Restore{Entity: user1}, list{dibs.Archive{Entity: user1}}, "a", none},
		{"transfer", list{claim("a", user1)}, transfer("a", user1, user2), list{transfer("a", user2, user1)}, "a", user1},
		{"swap", list{claim("a", user1), claim("b", user2)}, swap("a", "b"), list{swap("b", "a")}, "a", user1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newFixture(t, dibsclient.Options{})
			apply(t, r.server, test.before...)
			network := &lossyTransport{between: func() { apply(t, r.server, test.between...) }}
			reg := dial(t, r.url, dibsclient.Options{HTTPClient: &http.Client{Transport: network}})
			_, err := reg.Apply(t.Context(), test.command)
			if !errors.Is(err, dibs.ErrOutcomeUnknown) || !errors.Is(err, io.ErrUnexpectedEOF) || network.requests.Load() != 1 {
				t.Errorf("got %v after %d requests", err, network.requests.Load())
			}
			got, err := r.server.Resolve(t.Context(), "slug", test.value)
			if isActive := got.Outcome == dibs.ResolveActive; err != nil || isActive != (test.want != none) || (isActive && got.Entity != test.want) {
				t.Errorf("%s leads to %+v, %v; want %v", test.value, got, err, test.want)
			}
		})
	}
}

// The client repeats a fenced command. A refusal of the repetition may be a consequence of
// the first attempt.
func TestRefusalOfRepeatedCommand(t *testing.T) {
	t.Parallel()
	id := dibs.NameID("slug", "a")
	reserve := func(token string) dibs.Command {
		return dibs.Reserve{Namespace: "slug", Value: "a", Token: token}
	}
	confirm := dibs.Confirm{ID: id, Token: token1, Entity: user1}
	release := dibs.Release{ID: id, Token: token1}
	extend := dibs.Extend{ID: id, Token: token1}
	type list = []dibs.Command
	tests := []struct {
		name                      string
		before, commands, between list
		unsent                    bool
		unknown                   bool
		refusal                   error
	}{
		{"confirmed, then deleted", list{reserve(token1)}, list{confirm}, list{dibs.Delete{Entity: user1}}, false, true, dibs.ErrAlreadyReleased},
		{"confirmed, then transferred", list{reserve(token1)}, list{confirm}, list{dibs.Transfer{Namespace: "slug", Value: "a", From: user1, To: user2}}, false, true, dibs.ErrAlreadyConfirmed},
		{"confirmed, deleted, reserved", list{reserve(token1)}, list{confirm}, list{dibs.Delete{Entity: user1}, reserve(token2)}, false, true, dibs.ErrLost},
		{"released, then reserved", list{reserve(token1)}, list{release}, list{reserve(token2)}, false, true, dibs.ErrLost},
		{"extended, then confirmed", list{reserve(token1)}, list{extend}, list{confirm}, false, true, dibs.ErrAlreadyConfirmed},
		{"extended, then released", list{reserve(token1)}, list{extend}, list{release}, false, true, dibs.ErrAlreadyReleased},
		{"a list that conflicts with itself", nil, list{reserve(token1), confirm}, nil, false, true, dibs.ErrAlreadyConfirmed},
		{"a list of releases", list{reserve(token1), dibs.Reserve{Namespace: "slug", Value: "b", Token: token1}}, list{dibs.Release{ID: dibs.NameID("slug", "b"), Token: token1}, release}, list{reserve(token2)}, false, true, dibs.ErrLost},
		{"confirmed for another", list{dibs.Reserve{Namespace: "slug", Value: "a", Token: token1, Entity: user2}}, list{confirm}, nil, false, false, dibs.ErrNotOwner},
		{"not reserved, then taken", nil, list{reserve(token1)}, list{reserve(token2)}, true, false, dibs.ErrNameTaken},
		{"reserved, released, taken", nil, list{reserve(token1)}, list{release, reserve(token2)}, false, false, dibs.ErrNameTaken},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newFixture(t, dibsclient.Options{})
			apply(t, r.server, test.before...)
			network := &lossyTransport{between: func() { apply(t, r.server, test.between...) }, unsent: test.unsent}
			reg := dial(t, r.url, dibsclient.Options{HTTPClient: &http.Client{Transport: network}})
			_, err := reg.Apply(t.Context(), test.commands...)
			if errors.Is(err, dibs.ErrOutcomeUnknown) != test.unknown || !errors.Is(err, test.refusal) {
				t.Errorf("the error is %v, want %v, unknown: %v", err, test.refusal, test.unknown)
			}
			if n := network.requests.Load(); n != 2 {
				t.Errorf("%d requests, want 2", n)
			}
		})
	}
}
