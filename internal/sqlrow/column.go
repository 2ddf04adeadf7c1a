package sqlrow

import (
	"encoding/json"
	"fmt"

	"github.com/calldibs/dibs"
)

// DueRef returns the ref of a row that is due. For a name, scope is its namespace.
func DueRef(kind, scope string, id dibs.ID) dibs.Ref {
	ref := dibs.Ref{Kind: dibs.Kind(kind), Scope: scope, ID: id}
	if ref.Kind == dibs.KindName {
		ref.Scope = dibs.ScopeOf(scope)
	}
	return ref
}

// JSON returns the text of a map column, which is empty for an empty map.
func JSON[V any](m map[string]V) (string, error) {
	if len(m) == 0 {
		return "", nil
	}
	data, err := json.Marshal(m)
	return string(data), err
}

// SetEncoded sets the fields of a name that are encoded in its row.
func SetEncoded(n *dibs.NameRecord, meta string, links, spent []byte) (err error) {
	if meta != "" {
		if err := json.Unmarshal([]byte(meta), &n.Meta); err != nil {
			return fmt.Errorf("the meta column of name %s is damaged: %w", n.ID, err)
		}
	}
	if n.Links, err = dibs.DecodeLinks(links); err != nil {
		return err
	}
	n.Spent, err = dibs.DecodeSpent(spent)
	return err
}

// SetActive sets the active names of an entity from their column.
func SetActive(e *dibs.EntityRecord, active string) error {
	if active == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(active), &e.Active); err != nil {
		return fmt.Errorf("the active column of entity %s is damaged: %w", e.Entity, err)
	}
	return nil
}
