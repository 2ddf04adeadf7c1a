package rules

import "github.com/calldibs/dibs"

// Location says where a command applies: in a scope, or wherever a reservation is stored.
type Location struct {
	Name      string // for messages
	Namespace string // empty if the command names no namespace; so is Kind
	Kind      string
	Scope     string
	ID        dibs.ID // of the reservation; zero if the scope is known
}

// inNamespace returns the location of a namespace, or none if the namespace is not well-formed:
// such a command is refused anyway.
func inNamespace(namespace string) []Location {
	scope, kind, err := splitNamespace(namespace)
	if err != nil {
		return nil
	}
	return []Location{{Name: namespace, Namespace: namespace, Kind: kind, Scope: scope}}
}

// inScope returns the location of an entity.
func inScope(scope string, entity dibs.Entity) []Location {
	if checkScope(scope) != nil {
		return nil
	}
	name := entity.String()
	if scope != "" {
		name += " of scope " + scope
	}
	return []Location{{Name: name, Scope: scope}}
}

// ofReservation returns the location of a reservation, whose scope is not known.
func ofReservation(id dibs.ID) []Location { return []Location{{Name: id.String(), ID: id}} }
