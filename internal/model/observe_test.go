package model_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/model"
)

// The two sides are compared as text: one line for each name and entity, in the same
// format. A difference is then readable.

func (w *world) nameLine(label string, state dibs.State, status dibs.Status, epoch uint64, entity dibs.Entity, value string, expiresAt, until int64) string {
	line := fmt.Sprintf("%s: %s %s, epoch %d, of %q, written %q", label, state, status, epoch, entity.ID, value)
	switch state {
	case dibs.Held, dibs.Suspect:
		line += ", expires " + w.since(expiresAt)
	case dibs.Alias, dibs.Quarantined:
		line += ", until " + w.since(until)
	}
	return line
}

func ms(t time.Time) int64 { return int64(dibs.InstantOf(t)) }

// seen is everything that a registry shows.
func (w *world) seen(s *side) []string {
	ctx := context.Background()
	var lines []string
	for _, namespace := range namespaces {
		for _, value := range takeable {
			label := namespace + ":" + value
			lines = append(lines, w.seenName(s, namespace, value, label), w.seenResolution(s, namespace, value, label))
		}
		for _, entity := range []dibs.Entity{noEntity, entities[0]} {
			checks, err := s.registry.Check(ctx, dibs.CheckRequest{Namespace: namespace, Values: values, Entity: entity})
			if err != nil {
				w.t.Fatalf("check: %v", err)
			}
			for i, c := range checks {
				lines = append(lines, fmt.Sprintf("check %s:%s for %q: %v %s", namespace, values[i], entity.ID, c.Available, c.Reason))
			}
		}
	}
	for _, scope := range []string{"", "acme"} {
		for _, entity := range entities {
			lines = append(lines, w.seenEntity(s, scope, entity))
		}
	}
	return lines
}

func (w *world) seenName(s *side, namespace, value, label string) string {
	n, err := s.registry.Get(context.Background(), dibs.Lookup{Namespace: namespace, Value: value})
	if err != nil {
		return label + ": " + codeOf(err)
	}
	return w.nameLine(label, n.State, n.Status, n.Epoch, n.Entity, plain(namespace, n.Value), ms(n.ExpiresAt), ms(n.Until))
}

func (w *world) seenResolution(s *side, namespace, value, label string) string {
	r, err := s.registry.Resolve(context.Background(), namespace, value)
	if err != nil {
		return "resolve " + label + ": " + codeOf(err)
	}
	to := ""
	switch {
	case r.To != nil:
		to = plain(namespace, r.To.Canonical)
	case r.Outcome == dibs.ResolveActive:
		to = plain(namespace, r.Canonical)
	}
	return fmt.Sprintf("resolve %s: %s %s", label, r.Outcome, to)
}

func (w *world) seenEntity(s *side, scope string, entity dibs.Entity) string {
	info, err := s.registry.Entity(context.Background(), scope, entity)
	if err != nil {
		return entityLabel(scope, entity) + codeOf(err)
	}
	var names []string
	for _, n := range info.Names {
		names = append(names, plainKey(n.Key())+" "+string(n.State))
	}
	slices.Sort(names) // hashes sort differently
	return entityLine(scope, entity, info.Archived, w.version(scope, info.Version), names)
}

func entityLabel(scope string, entity dibs.Entity) string {
	return fmt.Sprintf("entity %q of %q: ", entity.ID, scope)
}

func entityLine(scope string, entity dibs.Entity, archived bool, version uint64, names []string) string {
	return fmt.Sprintf("%sarchived %v, version %d, %s", entityLabel(scope, entity), archived, version, strings.Join(names, ", "))
}

// expected is everything that the model shows.
func (w *world) expected() []string {
	var lines []string
	for _, namespace := range namespaces {
		for _, value := range takeable {
			label := namespace + ":" + value
			key, _ := w.key(namespace, value)
			lines = append(lines, w.expectedName(key, label))
			outcome, to := w.model.Resolve(w.now, key)
			lines = append(lines, fmt.Sprintf("resolve %s: %s %s", label, outcome, to.Canonical))
		}
		for _, entity := range []dibs.Entity{noEntity, entities[0]} {
			for _, value := range values {
				available, reason := true, dibs.Reason("")
				if refused := w.model.Check(w.now, namespace, value, entity); refused != nil {
					available, reason = false, reasonOf(refused)
				}
				lines = append(lines, fmt.Sprintf("check %s:%s for %q: %v %s", namespace, value, entity.ID, available, reason))
			}
		}
	}
	for _, scope := range []string{"", "acme"} {
		for _, entity := range entities {
			lines = append(lines, w.expectedEntity(scope, entity))
		}
	}
	return lines
}

func (w *world) expectedName(key model.Key, label string) string {
	n, ok := w.model.Get(w.now, key)
	if !ok {
		return label + ": " + string(dibs.CodeNotFound)
	}
	return w.nameLine(label, n.State, n.Status, n.Epoch, n.Shown(), n.Value, n.ExpiresAt, n.Until)
}

func (w *world) expectedEntity(scope string, entity dibs.Entity) string {
	e, keys, ok := w.model.Entity(w.now, model.Owner{Scope: scope, Entity: entity})
	if !ok || e.Deleted {
		return entityLabel(scope, entity) + string(dibs.CodeEntityNotFound)
	}
	var names []string
	for _, key := range keys {
		n, _ := w.model.Get(w.now, key)
		names = append(names, key.Namespace+":"+key.Canonical+" "+string(n.State))
	}
	slices.Sort(names)
	return entityLine(scope, entity, e.Archived, w.version(scope, e.Version), names)
}

// hasVersions reports whether versions can be compared. The end of an alias raises its
// entity's version when it is recorded, at any later time, so versions are not compared
// where aliases end.
func (w *world) hasVersions(scope string) bool {
	if w.changing != "" || w.forgot {
		return false // new rules and forgetting raise them as well
	}
	for namespace, policy := range w.policies {
		if scopes[namespace] == scope && policy.AliasRetention > 0 {
			return false
		}
	}
	return true
}

// version is a version, or 0 if it cannot be compared.
func (w *world) version(scope string, version uint64) uint64 {
	if !w.hasVersions(scope) {
		return 0
	}
	return version
}

// reasonOf is the reason of a check for a refusal.
func reasonOf(refused *model.Refusal) dibs.Reason {
	switch refused.Code {
	case dibs.CodeInvalidValue:
		return dibs.ReasonInvalid
	case dibs.CodeReservedWord:
		return dibs.ReasonReservedWord
	}
	return refused.Reason
}

func codeOf(err error) string {
	if e, ok := errors.AsType[*dibs.Error](err); ok {
		return string(e.Code)
	}
	return err.Error()
}

// compare fails if two lists of lines differ, and shows only the differences.
func (w *world) compare(what string, want, got []string) {
	var diff []string
	for i := range want {
		if want[i] != got[i] {
			diff = append(diff, "  expected "+want[i], "  but      "+got[i])
		}
	}
	if len(diff) > 0 {
		w.t.Fatalf("%s\n%s", what, strings.Join(diff, "\n"))
	}
}
