//go:build unix

package archive_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// config has policies with everything that leaves a record: quotas, quarantines, look-alikes, blind
// keys, witnesses, several names of an entity.
func config() dibs.Config {
	plain := dibs.Policy{
		Profile: coretest.Lower{}, Skeleton: coretest.Digits{}, DefaultTTL: time.Hour, MaxHolds: 4, Quarantine: time.Hour,
		AliasRetention: 24 * time.Hour, HoldHistory: time.Hour, MinTTL: time.Millisecond,
	}
	seen, many, blind := plain, plain, plain
	seen.Witness = func(context.Context, dibs.SuspectHold) (dibs.Verdict, error) { return dibs.Unknown, nil }
	many.ManyPerEntity = true
	blind.Skeleton = nil
	blind.Blind = []dibs.BlindKey{{ID: "k1", Secret: []byte("0123456789abcdef0123456789abcdef")}}
	return dibs.Config{
		SweepEvery: -1, Suggestions: -1,
		Policies: map[string]dibs.Policy{"slug": plain, "acme.slug": plain, "seen": seen, "many": many, "email": blind},
	}
}

// life is what happened to a registry, and who knows what about it.
type life struct {
	random *rand.Rand
	values map[string][]string // by namespace
	owners []dibs.Entity
	tokens map[string]bool
	holds  []dibs.Hold
	begun  time.Time
}

var namespaces = []string{"slug", "acme.slug", "seen", "many", "email"}

// live gives a registry a random life.
func live(t *testing.T, registry *dibs.Registry, seed uint64) *life {
	t.Helper()
	l := &life{random: rand.New(rand.NewPCG(seed, 1)), values: make(map[string][]string), tokens: make(map[string]bool), begun: time.Now()}
	for i := range 6 {
		l.owners = append(l.owners, dibs.Entity{Type: "user", ID: fmt.Sprint(i)})
	}
	for _, namespace := range namespaces {
		for i := range 8 {
			l.values[namespace] = append(l.values[namespace], fmt.Sprintf("Name%d", i))
		}
	}
	done := 0
	for i := range 300 {
		command, token := l.command(i)
		results, err := registry.As(l.principal(i)).Apply(t.Context(), command)
		if err != nil {
			continue
		}
		done++
		if token != "" {
			l.holds = append(l.holds, dibs.Hold{Name: results[0].Names[0], Token: token})
		}
	}
	if done < 70 || len(l.holds) < 15 {
		t.Fatalf("a poor life: %d commands succeeded, %d holds", done, len(l.holds))
	}
	for end := time.Now().Add(5 * time.Millisecond); time.Now().Before(end); { // until the shortest holds are over
		runtime.Gosched()
	}
	if _, err := registry.Sweep(t.Context(), 1000); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *life) principal(i int) dibs.Principal {
	return dibs.Principal{Name: fmt.Sprint("app", i%3), Rights: dibs.ActForOthers | dibs.Operate | dibs.OverrideReserved}
}

func pick[T any](l *life, from []T) T { return from[l.random.IntN(len(from))] }

// command returns a random command, and the token of a new hold.
func (l *life) command(i int) (_ dibs.Command, token string) {
	namespace := pick(l, namespaces)
	value, owner := pick(l, l.values[namespace]), pick(l, l.owners)
	scope := dibs.ScopeOf(namespace)
	switch l.random.IntN(12) {
	case 0, 1, 2:
		token = fmt.Sprintf("token-of-the-hold-%06d", i)
		reserve := dibs.Reserve{Namespace: namespace, Value: value, Token: token, CorrelationID: fmt.Sprint("c", i), Meta: map[string]string{"form": "söme"}}
		if l.random.IntN(3) == 0 {
			reserve.TTL = dibs.For(2 * time.Millisecond)
		}
		return reserve, token
	case 3, 4:
		return dibs.Claim{Namespace: namespace, Value: value, Entity: owner}, ""
	case 5:
		return dibs.Rename{Namespace: namespace, Value: value, Entity: owner}, ""
	case 6:
		return dibs.Decommission{Namespace: namespace, Value: value, Entity: owner}, ""
	case 7:
		return dibs.Transfer{Namespace: namespace, Value: value, From: owner, To: pick(l, l.owners)}, ""
	case 8:
		if l.random.IntN(4) == 0 {
			return dibs.Delete{Scope: scope, Entity: owner}, ""
		}
		return dibs.Archive{Scope: scope, Entity: owner}, ""
	case 9:
		return dibs.Restore{Scope: scope, Entity: owner}, ""
	}
	if len(l.holds) == 0 {
		return dibs.Claim{Namespace: namespace, Value: value, Entity: owner}, ""
	}
	hold := pick(l, l.holds)
	if l.random.IntN(3) == 0 {
		return dibs.Release{ID: hold.ID, Token: hold.Token}, ""
	}
	return dibs.Confirm{ID: hold.ID, Token: hold.Token, Entity: owner, Replace: true}, ""
}

// questions asks a registry everything, many questions at once.
type questions struct {
	t        *testing.T
	registry *dibs.Registry
	all      []func(ctx context.Context) (answer any, err error)
	names    []string
}

func (q *questions) ask(name string, question func(ctx context.Context) (any, error)) {
	q.names, q.all = append(q.names, name), append(q.all, question)
}

// remaining depends on when a question was asked.
var remaining = regexp.MustCompile(`"Remaining":[0-9]+`)

func (q *questions) answers() []string {
	answers := make([]string, len(q.all))
	var asking sync.WaitGroup
	room := make(chan struct{}, 32)
	for i, question := range q.all {
		room <- struct{}{}
		asking.Go(func() {
			answer, err := question(q.t.Context())
			text, failed := json.Marshal(answer)
			answers[i] = remaining.ReplaceAllString(fmt.Sprintf("%s: %s, %v, %v", q.names[i], text, err, failed), "")
			<-room
		})
	}
	asking.Wait()
	return answers
}

// answers returns the answers to everything that a registry can be asked about a life.
func (l *life) answers(t *testing.T, registry *dibs.Registry) []string {
	t.Helper()
	q := &questions{t: t, registry: registry}
	for _, namespace := range namespaces {
		for _, value := range l.values[namespace] {
			l.askName(q, namespace, value)
		}
		q.ask("check "+namespace, func(ctx context.Context) (any, error) {
			return registry.Check(ctx, dibs.CheckRequest{Namespace: namespace, Values: l.values[namespace]})
		})
		for _, state := range []dibs.State{"", dibs.Held, dibs.Suspect, dibs.Active, dibs.Alias, dibs.Quarantined, dibs.Free} {
			q.ask("list "+namespace+" "+string(state), func(ctx context.Context) (any, error) {
				page, err := registry.List(ctx, dibs.NamesQuery{Namespace: namespace, State: state, Limit: 1000})
				return page.Names, err
			})
		}
	}
	for _, owner := range l.owners {
		for _, scope := range []string{"", "acme"} {
			q.ask("entity "+scope+" "+owner.String(), func(ctx context.Context) (any, error) { return registry.Entity(ctx, scope, owner) })
		}
	}
	for _, hold := range l.holds {
		for _, command := range []dibs.Command{
			dibs.Confirm{ID: hold.ID, Token: hold.Token, Entity: l.owners[0]},
			dibs.Release{ID: hold.ID, Token: hold.Token},
			dibs.Reserve{Namespace: hold.Namespace, Value: hold.Value, Token: hold.Token},
		} {
			q.ask("dry "+command.Op()+" "+hold.Token, func(ctx context.Context) (any, error) {
				results, err := registry.As(l.principal(0)).DryRun(ctx, command)
				return withoutTimes(results), err
			})
		}
	}
	q.ask("stats", func(ctx context.Context) (any, error) {
		stats, err := registry.Stats(ctx)
		counts := make(map[string]int)
		for _, c := range stats.Names {
			counts[c.Namespace+" "+string(c.State)] = c.Count
		}
		return counts, err
	})
	q.ask("events", func(ctx context.Context) (any, error) {
		page, err := registry.Events(ctx, dibs.FeedQuery{Limit: 1000})
		return told(page.Events), err
	})
	return q.answers()
}

func (l *life) askName(q *questions, namespace, value string) {
	registry := q.registry
	q.ask("get "+namespace+" "+value, func(ctx context.Context) (any, error) {
		return registry.Get(ctx, dibs.Lookup{Namespace: namespace, Value: value, Version: true})
	})
	q.ask("resolve "+namespace+" "+value, func(ctx context.Context) (any, error) { return registry.Resolve(ctx, namespace, value) })
	q.ask("history "+namespace+" "+value, func(ctx context.Context) (any, error) {
		history, err := registry.History(ctx, namespace, value)
		var all []any
		for _, e := range history {
			holder, err := registry.WhoHeld(ctx, namespace, value, e.At.Time())
			e.Cursor = ""
			all = append(all, e, holder, err)
		}
		return all, err
	})
	for i := range 3 { // some have no room in their quotas
		q.ask("reserve "+namespace+" "+value, func(ctx context.Context) (any, error) {
			results, err := registry.As(l.principal(i)).DryRun(ctx, dibs.Reserve{
				Namespace: namespace, Value: value, Token: "a-new-token-for-" + value, TTL: dibs.For(time.Minute),
			})
			return withoutTimes(results), err
		})
	}
}

// withoutTimes returns results as a text without what depends on when they were asked for.
func withoutTimes(results []dibs.Result) string {
	var text string
	for _, r := range results {
		for _, n := range r.Names {
			text += fmt.Sprintf("%s %v %v %s;", n.State, r.Replayed, n.Epoch, n.Entity)
		}
	}
	return text
}

// goesOn uses a registry that was loaded: holds can be confirmed with their tokens, and names be taken.
func (l *life) goesOn(t *testing.T, registry *dibs.Registry) {
	t.Helper()
	confirmed := 0
	for _, hold := range slices.Backward(l.holds) {
		owner := dibs.Entity{Type: "late", ID: hold.Token}
		if _, err := registry.As(l.principal(0)).Confirm(t.Context(), dibs.Confirm{ID: hold.ID, Token: hold.Token, Entity: owner}); err == nil {
			confirmed++
		}
	}
	if confirmed == 0 {
		t.Error("no hold could be confirmed")
	}
	for _, namespace := range namespaces {
		owner := dibs.Entity{Type: "new", ID: "1"}
		if _, err := registry.Claim(t.Context(), dibs.Claim{Namespace: namespace, Value: "brand-new", Entity: owner}); err != nil {
			t.Error(err)
		}
	}
}
