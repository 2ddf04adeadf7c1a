package dibs

// place is where something that a command is about belongs to: a scope, or wherever the
// reservation with an ID is.
type place struct {
	name  string // what the caller called it
	scope string
	id    ID // zero where the scope is known
}

// inNamespace returns the place of a namespace; none for one that is not well-formed, which
// is refused wherever it goes.
func inNamespace(namespace string) []place {
	scope, _, err := splitNamespace(namespace)
	if err != nil {
		return nil
	}
	return []place{{name: namespace, scope: scope}}
}

// inScope returns the place of an entity.
func inScope(scope string, entity Entity) []place {
	if checkScope(scope) != nil {
		return nil
	}
	name := entity.String()
	if scope != "" {
		name += " of scope " + scope
	}
	return []place{{name: name, scope: scope}}
}

func ofReservation(id ID) []place { return []place{{name: id.String(), id: id}} }

func (c Reserve) places() []place      { return inNamespace(c.Namespace) }
func (c ReserveFirst) places() []place { return inNamespace(c.Namespace) }
func (c Extend) places() []place       { return ofReservation(c.ID) }
func (c Confirm) places() []place      { return ofReservation(c.ID) }
func (c Release) places() []place      { return ofReservation(c.ID) }
func (c Claim) places() []place        { return inNamespace(c.Namespace) }
func (c Rename) places() []place       { return inNamespace(c.Namespace) }
func (c Archive) places() []place      { return inScope(c.Scope, c.Entity) }
func (c Restore) places() []place      { return inScope(c.Scope, c.Entity) }
func (c Delete) places() []place       { return inScope(c.Scope, c.Entity) }
func (c Decommission) places() []place { return inNamespace(c.Namespace) }
func (c Transfer) places() []place     { return inNamespace(c.Namespace) }
func (c Swap) places() []place         { return inNamespace(c.Namespace) }
func (c Rekey) places() []place        { return inNamespace(c.Namespace) }
func (c Settle) places() []place       { return ofReservation(c.ID) }

// A sweep goes where the commands beside it go.
func (c Sweep) places() []place { return nil }

func (c ReserveAll) places() []place {
	var places []place
	for _, r := range c.Reservations {
		places = append(places, r.places()...)
	}
	return places
}
