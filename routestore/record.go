package routestore

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/calldibs/dibs"
)

// kindRoutes is the kind of the document in which each part has the routes on record.
const kindRoutes dibs.Kind = "routes"

var recordRef = func() dibs.Ref {
	sum := sha256.Sum256([]byte("routes"))
	return dibs.Ref{Kind: kindRoutes, ID: dibs.ID(sum[:16])}
}()

// record is what a part has on record.
type record struct {
	rev uint64 // 0: there is none
	// Registry is what all parts of a registry have in common, and no other has.
	Registry string `json:"registry"`

	Part   string `json:"part"`   // the part's own name
	Routes string `json:"routes"` // see [table.text]
	// Settled says that nobody works by other routes any more. Until then it is Former that
	// names may have been given out by; empty where there were no routes.
	Settled bool   `json:"settled"`
	Former  string `json:"former,omitempty"`
}

// inForce is what names may have been given out by.
func (r record) inForce() string {
	if r.Settled {
		return r.Routes
	}
	return r.Former
}

// readRecord returns what an engine has on record.
func readRecord(ctx context.Context, engine dibs.Store) (record, error) {
	snapshot, err := engine.Load(ctx, []dibs.Ref{recordRef})
	if err != nil || len(snapshot.Records) == 0 {
		return record{}, err
	}
	var r record
	doc, ok := snapshot.Records[0].(*dibs.Document)
	if !ok || json.Unmarshal(doc.Data, &r) != nil {
		return record{}, errors.New("routestore: the routes on record cannot be read: restore the store, or open it with the version that wrote them")
	}
	r.rev = doc.Rev
	return r, nil
}

// write puts a record in the place of the one that was read. It fails if that has changed.
func (r record) write(ctx context.Context, engine dibs.Store) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	doc := &dibs.Document{Kind: kindRoutes, ID: recordRef.ID, Rev: r.rev + 1, Label: "routes", Data: data}
	return commit(ctx, engine, dibs.Group{
		Reads:  []dibs.Read{{Ref: recordRef, Rev: r.rev}},
		Writes: []dibs.Write{{Record: doc}},
	})
}

// remove takes the record out of a part that had none before.
func (r record) remove(ctx context.Context, engine dibs.Store) error {
	doc := &dibs.Document{Kind: kindRoutes, ID: recordRef.ID, Rev: r.rev, Label: "routes"}
	return commit(ctx, engine, dibs.Group{
		Reads:  []dibs.Read{{Ref: recordRef, Rev: r.rev}},
		Writes: []dibs.Write{{Record: doc, Delete: true}},
	})
}

var errRaced = errors.New("routestore: another process changes the routes just now: try again, with the same routes everywhere")

func commit(ctx context.Context, engine dibs.Store, group dibs.Group) error {
	outcomes, err := engine.Commit(ctx, []dibs.Group{group})
	if err != nil {
		return err
	}
	if len(outcomes) != 1 || outcomes[0] != dibs.Committed {
		return errRaced
	}
	return nil
}

// oneRegistry returns what the parts of the registry have in common; empty where nothing is
// on record. Parts of two registries are refused: they may well have the same routes.
func (t *table) oneRegistry(records []record) (registry string, err error) {
	first := 0
	for i, r := range records {
		switch {
		case r.rev == 0:
		case registry == "":
			registry, first = r.Registry, i
		case r.Registry != registry:
			return "", fmt.Errorf("routestore: the stores of %q and %q are parts of two registries: is one of them from another environment?", t.names[first], t.names[i])
		}
	}
	return registry, nil
}

// agrees says why a part must not be used by this table: another process has changed the
// routes, or the part is not the one that it is taken for.
func (t *table) agrees(r record, part int) error {
	name := t.names[part]
	switch {
	case r.rev == 0 && len(t.names) == 1:
		return nil // there never were routes, and there are none
	case r.rev == 0:
		return errReplaced(name)
	case r.Part != name:
		return errMistaken(r.Part, name)
	case r.Routes != t.text:
		return fmt.Errorf("routestore: the routes on record are %s, and this process has %s: give it the same, and start it again", r.Routes, t.text)
	case !r.Settled:
		return errors.New("routestore: the routes are being changed, which takes some seconds")
	}
	return nil
}

func errMistaken(recorded, name string) error {
	return fmt.Errorf("routestore: the store that is given as %q is on record as the part %q: was one of them given twice, or two swapped, or renamed?", name, recorded)
}

func errReplaced(name string) error {
	return fmt.Errorf("routestore: the store of the part %q has no routes on record, and the others say that it has names: is it the right one? restore it, if it was lost", name)
}

// PartName returns the name that an engine has on record as a part of several; empty where
// it is none.
func PartName(ctx context.Context, engine dibs.Store) (string, error) {
	r, err := readRecord(ctx, engine)
	return r.Part, err
}
