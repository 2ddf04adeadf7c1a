package embedded_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibsclient"
	"github.com/calldibs/dibs/embedded"
	"github.com/calldibs/dibs/internal/config"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/internal/server"
	"github.com/calldibs/dibs/memstore"
)

var (
	ann = dibs.Entity{Type: "user", ID: "ann"}
	bob = dibs.Entity{Type: "user", ID: "bob"}
)

// recording is what a program sees of a registry, a line for each call.
type recording struct {
	t     *testing.T
	lines []string
}

// note records the answer of a call, or its error.
func (r *recording) note(call string, answer any, err error) {
	r.t.Helper()
	if err != nil {
		var refused *dibs.Error
		if !errors.As(err, &refused) {
			r.t.Errorf("%s: the error is a %T: %v", call, err, err)
		}
		answer = refused
	}
	text, err := json.Marshal(answer)
	if err != nil {
		r.t.Fatal(err)
	}
	r.lines = append(r.lines, fmt.Sprintf("%s: %s", call, text))
}

// program uses a registry without knowing how it was opened. It runs in a synctest bubble, whose clock both
// kinds of registry use, so that all times are the same, too.
func program(t *testing.T, reg *dibs.Registry) []string {
	r := &recording{t: t}
	ctx := t.Context()
	const token = "token-of-the-program"

	// Emails, slugs and usernames are folded and checked.
	for _, claim := range []dibs.Claim{
		{Namespace: "email", Value: "Ann@X.com", Entity: ann},
		{Namespace: "email", Value: "ann@x.com", Entity: bob},
		{Namespace: "email", Value: "not an email", Entity: bob},
		{Namespace: "username", Value: "Ann_Liddell", Entity: ann},
		{Namespace: "username", Value: "ann_liddell", Entity: bob},
		{Namespace: "hostname", Value: "WWW", Entity: ann},
		{Namespace: "hostname", Value: "www.x.com", Entity: bob},
		{Namespace: "acme.slug", Value: "Füße & Co", Entity: ann},
		{Namespace: "anything", Value: "Any Thing", Entity: ann},
		{Namespace: "anything", Value: "any thing", Entity: bob},
	} {
		name, err := reg.Claim(ctx, claim)
		r.note("claim "+claim.Namespace+":"+claim.Value, name, err)
	}

	// A name is reserved, confirmed and renamed, and the old one redirects.
	hold, err := reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "Spring Wedding", Token: token, Entity: ann})
	r.note("reserve", hold, err)
	again, err := reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "spring-wedding", Token: token, Entity: ann})
	r.note("reserve again", again, err)
	other, err := reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "spring wedding"})
	r.note("reserve what is held", other, err)
	name, err := reg.Confirm(ctx, dibs.Confirm{ID: hold.ID, Token: token, Entity: ann})
	r.note("confirm", name, err)
	name, err = reg.Rename(ctx, dibs.Rename{Namespace: "slug", Value: "Summer Wedding", Entity: ann})
	r.note("rename", name, err)
	for _, value := range []string{"SPRING-WEDDING", "Summer Wedding", "autumn"} {
		resolution, err := reg.Resolve(ctx, "slug", value)
		r.note("resolve "+value, resolution, err)
	}
	answers, err := reg.Check(ctx, dibs.CheckRequest{Namespace: "slug", Values: []string{"Summer Wedding", "Winter Wedding", ""}, Suggest: 3})
	r.note("check", answers, err)
	results, err := reg.Apply(ctx, dibs.Archive{Entity: ann}, dibs.Restore{Entity: ann})
	r.note("apply", results, err)

	// A hold ends, and the background sweeper writes its event.
	brief, err := reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "brief", Token: token, TTL: dibs.For(time.Minute)})
	r.note("reserve for a minute", brief, err)
	time.Sleep(time.Minute + 30*time.Second)
	synctest.Wait()
	page, err := reg.Events(ctx, dibs.FeedQuery{})
	page.Generation = 0 // of one process
	r.note("feed", page, err)
	late, err := reg.Confirm(ctx, dibs.Confirm{ID: brief.ID, Token: token, Entity: bob})
	r.note("confirm too late", late, err)
	info, err := reg.Entity(ctx, "", ann)
	r.note("entity", info, err)
	return r.lines
}

// One program sees the same on an embedded registry with the zero Config as on a server with default
// settings: only the line that opens the registry differs.
func TestEmbeddedIsLikeAServer(t *testing.T) {
	t.Parallel()
	run := func(open func(t *testing.T) *dibs.Registry) (lines []string) {
		synctest.Test(t, func(t *testing.T) { lines = program(t, open(t)) })
		return lines
	}
	here, there := run(openEmbedded), run(openServer)
	if len(here) != len(there) {
		t.Fatalf("%d calls here, %d on the server", len(here), len(there))
	}
	for i := range here {
		if here[i] != there[i] {
			t.Errorf("embedded\n%s\non a server\n%s", here[i], there[i])
		}
	}
	// What the README promises of the zero Config.
	all := strings.Join(here, "\n")
	for _, want := range []string{
		`claim email:ann@x.com: {"code":"NAME_TAKEN"`,
		`claim email:not an email: {"code":"INVALID_VALUE"`,
		`"Kind":"expired"`,
	} {
		if !strings.Contains(all, want) {
			t.Errorf("the program did not see %s:\n%s", want, all)
		}
	}
}

func openEmbedded(t *testing.T) *dibs.Registry {
	t.Helper()
	return open(t, memstore.New(memstore.Config{}), dibs.Config{})
}

// openServer returns a client of a server with default settings. Requests do not use a network, so
// that it works in a synctest bubble.
func openServer(t *testing.T) *dibs.Registry {
	t.Helper()
	settings, err := config.Load(config.Overrides{Environ: map[string]string{}})
	if err != nil {
		t.Fatal(err)
	}
	store := memstore.New(memstore.Config{})
	handler := server.New(server.Config{Registry: open(t, store, settings.Dibs()), Store: store})
	client, err := dibsclient.Dial("http://registry", dibsclient.Options{HTTPClient: &http.Client{Transport: coretest.Direct{Handler: handler}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func open(t *testing.T, store dibs.Store, cfg dibs.Config) *dibs.Registry {
	t.Helper()
	reg, err := embedded.Open(store, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := reg.Close(); err != nil {
			t.Error(err)
		}
	})
	return reg
}

// The background sweeper runs by default. A negative SweepEvery turns it off.
func TestBackgroundSweeper(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		every time.Duration
		runs  bool
	}{{0, true}, {time.Second, true}, {-1, false}} {
		t.Run(c.every.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reg := open(t, memstore.New(memstore.Config{}), dibs.Config{SweepEvery: c.every})
				ctx := context.WithoutCancel(t.Context())
				if _, err := reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "x", TTL: dibs.For(time.Minute)}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute + 15*time.Second) // the default is every 10 s, give or take half of it
				synctest.Wait()
				page, err := reg.Events(ctx, dibs.FeedQuery{})
				if err != nil {
					t.Fatal(err)
				}
				swept := len(page.Events) == 2 && page.Events[1].Kind == dibs.EventExpired
				if swept != c.runs || len(page.Events) < 1 {
					t.Errorf("the feed is %+v; want it swept: %v", page.Events, c.runs)
				}
			})
		})
	}
}
