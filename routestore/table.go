package routestore

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/document"
	"github.com/calldibs/dibs/internal/snapshot"
)

// Everything is the pattern of the default part, which has all scopes that no other part has.
const Everything = "*"

// Route gives scopes to a part.
type Route struct {
	// Name identifies the part: 1 to 32 of a-z, 0-9, '-' and '_'. The part stores it, and it must
	// stay the same.
	Name string
	// Scopes are patterns of the part's scopes: "acme" matches that scope, "acme.*" matches acme
	// and all below it, and [Everything] all that no other pattern matches. The most specific
	// pattern wins, in any order. A part without scopes may be left out next time.
	Scopes []string
	// Store is the part's engine.
	Store dibs.Store
}

// table says which part has which scope. It never changes.
type table struct {
	names       []string       // of the parts
	defaultPart int            // the part with Everything
	exact       map[string]int // "acme"
	below       map[string]int // "acme" of "acme.*", and "" of Everything
	text        string         // equal tables have equal texts
}

var partName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,31}$`)

func newTable(routes []Route) (*table, error) {
	t := &table{exact: make(map[string]int), below: make(map[string]int)}
	for i, route := range routes {
		switch {
		case !partName.MatchString(route.Name):
			return nil, fmt.Errorf("routestore: invalid part name %q: use 1 to 32 of a-z, 0-9, '-' and '_'", route.Name)
		case slices.Contains(t.names, route.Name):
			return nil, fmt.Errorf("routestore: two routes have the name %q: give one route all of its scopes", route.Name)
		}
		t.names = append(t.names, route.Name)
		for _, pattern := range route.Scopes {
			if err := t.add(pattern, i); err != nil {
				return nil, err
			}
		}
	}
	var ok bool
	if t.defaultPart, ok = t.below[""]; !ok {
		return nil, fmt.Errorf("routestore: no route has the scope %q: give it to the part for all other scopes", Everything)
	}
	t.text = describe(routes)
	return t, nil
}

func (t *table) add(pattern string, part int) error {
	if err := CheckPattern(pattern); err != nil {
		return err
	}
	parts := t.exact
	scope, below := strings.CutSuffix(pattern, Everything)
	if below {
		parts, scope = t.below, strings.TrimSuffix(scope, ".")
	}
	if _, taken := parts[scope]; taken {
		return fmt.Errorf("routestore: the pattern %q occurs twice: remove one", pattern)
	}
	parts[scope] = part
	return nil
}

// CheckPattern returns what is wrong with a pattern of scopes.
func CheckPattern(pattern string) error {
	if pattern != Everything && !scopePattern.MatchString(strings.TrimSuffix(pattern, ".*")) {
		return fmt.Errorf(`routestore: invalid scope pattern %q: write "acme" for the scope acme, "acme.*" for acme and all below it, or "*" for all others`, pattern)
	}
	return nil
}

// scopePattern is the syntax of a scope; package dibs has the same rules. A namespace has up to
// eight segments, and the last one is its type.
var scopePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}(\.[a-z0-9][a-z0-9_-]{0,62}){0,6}$`)

// describe returns the text of routes, always in the same order.
func describe(routes []Route) string {
	scopes := make(map[string][]string)
	for _, route := range routes {
		scopes[route.Name] = append([]string{}, route.Scopes...)
		slices.Sort(scopes[route.Name])
	}
	text, err := json.Marshal(scopes) // sorted by name
	if err != nil {
		panic(err) // plain texts
	}
	return string(text)
}

// parse is the inverse of describe; an empty text has no routes.
func parse(text string) (scopes map[string][]string, err error) {
	if err := json.Unmarshal([]byte(cmp.Or(text, "{}")), &scopes); err != nil {
		return nil, errors.New("routestore: the stored routes cannot be read: open the store with the version of Dibs that wrote them")
	}
	return scopes, nil
}

// partOf returns the part of a scope: by its own pattern, by that of the nearest scope above it,
// or the default part. Records without a scope, such as API keys, are in the default part.
func (t *table) partOf(scope string) int {
	if part, ok := t.exact[scope]; ok {
		return part
	}
	for scope != "" {
		if part, ok := t.below[scope]; ok {
			return part
		}
		scope = scope[:max(0, strings.LastIndexByte(scope, '.'))]
	}
	return t.defaultPart
}

// checkFollows returns why the table must not replace the former one: names in a part that it
// leaves out would be free elsewhere, and so would names without a scope in another default part.
func (t *table) checkFollows(former map[string][]string) error {
	for name, scopes := range former {
		switch {
		case len(scopes) > 0 && !slices.Contains(t.names, name):
			return fmt.Errorf("routestore: the part %q is missing, which has %s by the stored routes: add it again; "+
				"if it is empty, open it once without scopes, and then leave it out", name, strings.Join(scopes, ", "))
		case slices.Contains(scopes, Everything) && t.names[t.defaultPart] != name:
			return fmt.Errorf("routestore: all other scopes are in the part %q by the stored routes, and cannot move to %q: "+
				"the part also has what belongs to no scope; give %q to it", name, t.names[t.defaultPart], Everything)
		}
	}
	return nil
}

// kindRoutes is the kind of the document with the routes, which every part stores.
const kindRoutes = snapshot.KindRoutes

var routesRef = func() dibs.Ref {
	sum := sha256.Sum256([]byte("routes"))
	return dibs.Ref{Kind: kindRoutes, ID: dibs.ID(sum[:16])}
}()

// storedRoutes is the document with the routes.
type storedRoutes struct {
	rev uint64 // 0: the part has no document
	// Registry is a random id that all parts of a registry share.
	Registry string `json:"registry"`

	Part   string `json:"part"`   // the part's own name
	Routes string `json:"routes"` // see [table.text]
	// Complete says that no process uses other routes any more. Until then processes may give
	// out names by the Former routes; empty means that there were no routes.
	Complete bool   `json:"settled"`
	Former   string `json:"former,omitempty"`
}

// inForce returns the routes by which processes may have given out names.
func (r storedRoutes) inForce() string {
	if r.Complete {
		return r.Routes
	}
	return r.Former
}

// readRoutes returns the routes that an engine has stored.
func readRoutes(ctx context.Context, engine dibs.Store) (storedRoutes, error) {
	found, err := engine.Load(ctx, []dibs.Ref{routesRef})
	if err != nil || len(found.Records) == 0 {
		return storedRoutes{}, err
	}
	var r storedRoutes
	doc, ok := found.Records[0].(*dibs.Document)
	if !ok || json.Unmarshal(doc.Data, &r) != nil {
		return storedRoutes{}, errors.New("routestore: the stored routes cannot be read: restore the store, or open it with the version of Dibs that wrote them")
	}
	r.rev = doc.Rev
	return r, nil
}

var errRaced = errors.New("routestore: another process is changing the routes: try again, with the same routes everywhere")

// write replaces the record that was read, or fails with errRaced if the record has changed.
// Without routes it removes the record.
func (r storedRoutes) write(ctx context.Context, engine dibs.Store) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	doc := &dibs.Document{Kind: kindRoutes, ID: routesRef.ID, Rev: r.rev + 1, Label: "routes", Data: data}
	err = document.Commit(ctx, engine, dibs.Group{
		Reads: []dibs.Read{{Ref: routesRef, Rev: r.rev}}, Writes: []dibs.Write{{Record: doc, Delete: r.Routes == ""}},
	})
	if errors.Is(err, document.ErrStale) {
		return errRaced
	}
	return err
}

// oneRegistry returns the id that all parts share, or "" if no part has stored one. It refuses
// parts of two registries, even if their routes are the same.
func (t *table) oneRegistry(records []storedRoutes) (registry string, err error) {
	first := 0
	for i, r := range records {
		switch {
		case r.rev == 0:
		case registry == "":
			registry, first = r.Registry, i
		case r.Registry != registry:
			return "", fmt.Errorf("routestore: the stores of %q and %q belong to two registries: check that both are of the same environment", t.names[first], t.names[i])
		}
	}
	return registry, nil
}

// agrees returns why a part must not be used with this table: another process has changed the
// routes, or the engine is another part.
func (t *table) agrees(r storedRoutes, part int) error {
	name := t.names[part]
	switch {
	case r.rev == 0 && len(t.names) == 1:
		return nil // there are no routes
	case r.rev == 0:
		return errNoRoutes(name)
	case r.Part != name:
		return errWrongPart(r.Part, name)
	case r.Routes != t.text:
		return fmt.Errorf("routestore: the stored routes are %s, but this process has %s: configure the stored ones and restart it", r.Routes, t.text)
	case !r.Complete:
		return errors.New("routestore: the routes are being changed: try again in some seconds")
	}
	return nil
}

func errWrongPart(recorded, name string) error {
	return fmt.Errorf("routestore: the store given as %q is stored as the part %q: check that no store is given twice, swapped or renamed", name, recorded)
}

func errNoRoutes(name string) error {
	return fmt.Errorf("routestore: the store of the part %q has no routes, but by the other parts it has names: check that it is the right store, or restore it", name)
}

// PartName returns the name that an engine has stored as one of several parts, or "" for any other
// engine.
func PartName(ctx context.Context, engine dibs.Store) (string, error) {
	r, err := readRoutes(ctx, engine)
	return r.Part, err
}
