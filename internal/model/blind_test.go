package model_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/calldibs/dibs/internal/core"

	"pgregory.net/rapid"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/model"
	"github.com/calldibs/dibs/memstore"
)

// The model knows of a blind namespace only that it keeps no spelling. The test decodes
// the registry's hashes, since it knows all possible values.

var blindKeys = []dibs.BlindKey{
	{ID: "a", Secret: bytes.Repeat([]byte("a"), 32)},
	{ID: "b", Secret: bytes.Repeat([]byte("b"), 32)},
	{ID: "c", Secret: bytes.Repeat([]byte("c"), 32)},
}

// hashes maps the registry's hashes to the values of a namespace. It asks a registry
// for each value under each key.
var hashes = sync.OnceValue(func() map[string]string {
	known := make(map[string]string)
	for _, key := range blindKeys {
		policy := dibs.Policy{Blind: []dibs.BlindKey{key}}
		registry, err := core.Open(memstore.New(memstore.Config{}), dibs.Config{Default: policy})
		if err != nil {
			panic(err)
		}
		for _, namespace := range namespaces {
			for _, value := range values {
				hold, err := registry.Reserve(context.Background(), dibs.Reserve{Namespace: namespace, Value: value})
				if err != nil {
					panic(err)
				}
				known[hold.Key()] = value
			}
		}
		_ = registry.Close()
	}
	return known
})

// plain returns the canonical form for a hash of a registry.
func plain(namespace, canonical string) string {
	if value, ok := hashes()[namespace+":"+canonical]; ok {
		return value
	}
	return canonical
}

// hidden is the hash of a name under a key.
func hidden(by dibs.BlindKey, key model.Key) string {
	for told, value := range hashes() {
		if hash, ok := strings.CutPrefix(told, key.Namespace+":"); ok && value == key.Canonical && strings.HasPrefix(hash, by.ID+".") {
			return hash
		}
	}
	panic("no such value")
}

func plainKey(key string) string {
	namespace, canonical, _ := strings.Cut(key, ":")
	return namespace + ":" + plain(namespace, canonical)
}

func plainKeys(keys []string) []string {
	for i, key := range keys {
		keys[i] = plainKey(key)
	}
	slices.Sort(keys)
	return keys
}

// addressed is a command as a side expects it: in a blind namespace a name has another
// ID.
func (w *world) addressed(s *side, command dibs.Command) dibs.Command {
	switch c := command.(type) {
	case dibs.Confirm:
		c.ID = w.row(s, c.ID)
		return c
	case dibs.Release:
		c.ID = w.row(s, c.ID)
		return c
	case dibs.Extend:
		c.ID = w.row(s, c.ID)
		return c
	case dibs.Settle:
		c.ID = w.row(s, c.ID)
		return c
	}
	return command
}

// row finds the ID that a name has, or will have once it is taken.
func (w *world) row(s *side, plain dibs.ID) dibs.ID {
	for namespace, policy := range w.policies {
		if len(policy.Blind) == 0 {
			continue
		}
		for _, value := range values {
			key, ok := w.key(namespace, value)
			if !ok || id(key) != plain {
				continue
			}
			if n, err := s.registry.Get(context.Background(), dibs.Lookup{Namespace: namespace, Value: value}); err == nil {
				return n.ID
			}
			return dibs.NameID(namespace, hidden(policy.Blind[0], key))
		}
	}
	return plain
}

// shareKey reports whether two processes with these keys see each other's names.
func shareKey(x, y []dibs.BlindKey) bool {
	return slices.ContainsFunc(x, func(a dibs.BlindKey) bool {
		return slices.ContainsFunc(y, func(b dibs.BlindKey) bool { return a.ID == b.ID })
	})
}

// rotate continues with other keys, or the same in another order. All processes still see
// all names: they share a key, or all names were rekeyed.
func (w *world) rotate() {
	changed := false
	for _, namespace := range namespaces {
		policy := w.policies[namespace]
		if len(policy.Blind) == 0 {
			continue
		}
		if rapid.Bool().Draw(w.t, "rekey") {
			w.rekey(namespace)
		}
		keys := rapid.Permutation(blindKeys).Draw(w.t, "keys")[:rapid.IntRange(1, 3).Draw(w.t, "how many")]
		if slices.ContainsFunc(w.orders[namespace], func(before []dibs.BlindKey) bool { return !shareKey(before, keys) }) {
			continue
		}
		policy.Blind = keys
		w.policies[namespace] = policy
		w.orders[namespace] = append(w.orders[namespace], keys)
		w.t.Logf("the keys of %s are %v", namespace, keys)
		changed = true
	}
	if changed {
		w.reopen()
	}
}

// rekey indexes every name of a namespace under all current keys.
func (w *world) rekey(namespace string) {
	for _, s := range w.sides {
		for _, key := range w.model.Keys(func(model.Name) bool { return true }) {
			if key.Namespace != namespace {
				continue
			}
			_, err := s.registry.Apply(context.Background(), dibs.Rekey{Namespace: namespace, Value: key.Canonical})
			if err != nil {
				w.t.Fatalf("rekey %+v: %v", key, err)
			}
		}
		for _, e := range s.feed.read(w, s.registry) {
			if e.Actor != "" || e.At == dibs.Instant(w.now) && e.Before.State == e.After.State {
				w.t.Fatalf("rekeying emitted %s of %s", e.Kind, e.Key())
			}
		}
	}
	w.orders[namespace] = [][]dibs.BlindKey{w.policies[namespace].Blind}
}
