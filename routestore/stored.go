package routestore

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/document"
)

// kindRoutes is the kind of the document with the routes, which every part stores.
const kindRoutes dibs.Kind = "routes"

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
