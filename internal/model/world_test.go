package model_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"pgregory.net/rapid"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/core"
	"github.com/calldibs/dibs/internal/model"
	"github.com/calldibs/dibs/memstore"
)

// The pools are small, so that commands often use the same names.
var (
	namespaces = []string{"one", "two", "acme.one"}
	scopes     = map[string]string{"one": "", "two": "", "acme.one": "acme"}
	values     = []string{"a", "b", "A", "4", "c", "word", "no!"}
	takeable   = values[:5] // the others are a reserved word and, where folded, invalid
	tokens     = []string{"token-1-of-the-test", "token-2-of-the-test", "token-3-of-the-test", "token-4-of-the-test", "token-5-of-the-test"}
	noEntity   = dibs.Entity{}
	entities   = []dibs.Entity{{Type: "user", ID: "1"}, {Type: "user", ID: "2"}, {Type: "user", ID: "3"}}
	alice      = dibs.Principal{Name: "alice"}
	bob        = dibs.Principal{Name: "bob", Rights: dibs.ActForOthers | dibs.Operate}
	principals = []dibs.Principal{alice, bob}
)

// folding is the test's own profile: value and canonical form differ.
type folding struct{}

func (folding) Name() string { return "folding/1" }

func (folding) Canonical(value string) (string, error) {
	if strings.Contains(value, "!") {
		return "", errors.New("it shouts")
	}
	return strings.ToLower(value), nil
}

// side is a registry under test, and what was read from its feed.
type side struct {
	registry *dibs.Registry
	store    *memstore.Store
	feed     *feedReader
	asked    map[doubtful]bool // the witness's questions
	// swept says that it is swept after every step; otherwise only by sweep steps, which
	// a world with two sides does not have.
	swept bool
	// remote says that it is behind a server.
	remote bool
	// mirror is another engine that must do the same; nil means none.
	mirror *mirror
}

// world is one history: the model, and the registries that must agree with it.
type world struct {
	t        *rapid.T
	now      int64
	start    int64
	policies map[string]dibs.Policy
	model    *model.Model
	sides    []*side
	observed int                          // how often everything was compared
	forgot   bool                         // an entity was forgotten
	changing string                       // the namespace whose rules change, if any
	orders   map[string][][]dibs.BlindKey // the keys of the names of a blind namespace

	asking    sync.Mutex              // held during a call of the witness: calls are concurrent
	script    map[string]dibs.Verdict // the witness's answers, by canonical form
	testimony []testimony             // the answers since the last observe
}

type testimony struct {
	hold    dibs.SuspectHold
	verdict dibs.Verdict
}

func newWorld(t *rapid.T, metamorphic bool) *world { return newWorldBeside(t, metamorphic, nil) }

// newWorldBeside returns a world whose first side has a mirror, unless open is nil.
func newWorldBeside(t *rapid.T, metamorphic bool, open openEngine) *world {
	w := &world{
		t: t, start: 1_700_000_000_000, script: make(map[string]dibs.Verdict),
		policies: make(map[string]dibs.Policy), orders: make(map[string][][]dibs.BlindKey),
	}
	w.now = w.start
	for _, namespace := range namespaces {
		w.policies[namespace] = w.drawPolicy(namespace, metamorphic)
	}
	w.model = model.New(w.policies, scopes, entities)
	w.open(metamorphic, open)
	return w
}

// open opens the sides: one, or two of which one is swept.
func (w *world) open(metamorphic bool, mirrored openEngine) {
	for i := range 2 {
		if i == 1 && !metamorphic {
			break
		}
		store := memstore.New(memstore.Config{Now: func() time.Time { return time.UnixMilli(w.now) }})
		s := &side{store: store, feed: newFeedReader(), asked: make(map[doubtful]bool), swept: i == 1}
		s.remote = i == 0 && mirrored == nil && rapid.IntRange(0, 7).Draw(w.t, "remote") == 7
		if i == 0 && mirrored != nil {
			s.mirror = newMirror(w, store, mirrored)
		}
		s.registry = w.registry(s)
		w.sides = append(w.sides, s)
	}
}

// registry opens a registry on a side's store, with the current policies.
func (w *world) registry(s *side) *dibs.Registry {
	cfg := dibs.Config{Policies: w.policies, Suggestions: -1, SweepEvery: -1}
	if s.remote {
		cfg.Suggestions = 3 // these must be transmitted, too
	}
	if s.mirror != nil {
		return s.mirror.open(cfg)
	}
	registry, err := core.Open(lastingStore{s.store}, cfg)
	if err != nil {
		w.t.Fatalf("open: %v", err)
	}
	if s.remote {
		return w.serve(registry, s.store)
	}
	return registry
}

// lastingStore is a store that another registry is opened on later.
type lastingStore struct{ *memstore.Store }

func (lastingStore) Close() error { return nil }

// reopen continues with new registries, with the current policies.
func (w *world) reopen() {
	for _, s := range w.sides {
		_ = s.registry.Close()
		s.registry = w.registry(s)
	}
}

func (w *world) close() {
	defer w.closeSides() // also after a difference
	if w.t.Failed() {
		return
	}
	if rapid.IntRange(0, 7).Draw(w.t, "verify") == 0 { // some: it takes longer than the history itself
		w.verify()
	}
	for _, s := range w.sides {
		if s.mirror != nil {
			s.mirror.compareStates()
		}
	}
}

func (w *world) closeSides() {
	for _, s := range w.sides {
		_ = s.registry.Close()
		if s.mirror != nil {
			s.mirror.engine.close()
		}
		_ = s.store.Close()
	}
}

// drawPolicy draws the policy of a namespace. All durations are set, because the model
// has no defaults.
func (w *world) drawPolicy(namespace string, metamorphic bool) dibs.Policy {
	var flags []string
	flag := func(label string) bool {
		set := rapid.Bool().Draw(w.t, label)
		if set {
			flags = append(flags, label)
		}
		return set
	}
	defer func() { w.t.Logf("namespace %s: %s", namespace, strings.Join(flags, ", ")) }()
	p := dibs.Policy{
		Profile: dibs.Exact, ReservedWords: dibs.WordList("word"),
		MinTTL: time.Second, DefaultTTL: 10 * time.Second, MaxTTL: 30 * time.Second, MaxHold: 40 * time.Second,
		HoldHistory: time.Hour, RedirectStatus: 301, ArchivedStatus: 404,
	}
	if flag("folds") {
		p.Profile = folding{}
	}
	if flag("look-alikes") {
		p.Skeleton = looking{}
	}
	if rapid.IntRange(0, 3).Draw(w.t, "blind") == 0 && flag("hides values") {
		p.Blind = rapid.Permutation(blindKeys).Draw(w.t, "keys")[:rapid.IntRange(1, 3).Draw(w.t, "how many")]
		w.orders[namespace] = [][]dibs.BlindKey{p.Blind}
	}
	if flag("quarantines") {
		p.Quarantine = 25 * time.Second
	}
	if flag("retires aliases") {
		p.AliasRetention = 15 * time.Second
	}
	if flag("many") {
		p.ManyPerEntity = true
	}
	if flag("few holds") {
		p.MaxHolds = 2
	}
	if flag("short holds") {
		p.MaxHold = 20 * time.Second
	}
	if flag("archived are gone") {
		p.ArchivedStatus = 410
	}
	if flag("witness") {
		p.Witness = w.witness
	}
	// Purging makes sweeping visible, so two sides can only agree without it.
	if metamorphic {
		p.HoldHistory = 200 * 365 * 24 * time.Hour
	} else if flag("purges") {
		p.HoldHistory = 20 * time.Second
	}
	return p
}

// witness answers by the script, and records the answer.
func (w *world) witness(_ context.Context, hold dibs.SuspectHold) (dibs.Verdict, error) {
	w.asking.Lock()
	defer w.asking.Unlock()
	verdict := w.script[plain(hold.Namespace, hold.Canonical)]
	w.testimony = append(w.testimony, testimony{hold, verdict})
	return verdict, nil
}

// key is the key of a value in a namespace, by the policy's profile.
func (w *world) key(namespace, value string) (model.Key, bool) {
	canonical, err := w.policies[namespace].Profile.Canonical(value)
	return model.Key{Namespace: namespace, Canonical: canonical}, err == nil
}

// idOf is a reservation id of a name: its current one, or one from before the rules of its
// namespace changed.
func (w *world) idOf(key model.Key) dibs.ID {
	return id(draw(w, "id", append(w.model.Former(key), key)...))
}

func id(key model.Key) dibs.ID { return dibs.NameID(key.Namespace, key.Canonical) }

// since formats a time as the duration since the start of the history.
func (w *world) since(ms int64) string {
	if ms == 0 {
		return "-"
	}
	return fmt.Sprintf("+%v", time.Duration(ms-w.start)*time.Millisecond)
}
