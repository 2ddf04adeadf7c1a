package dibs

// Principal is who is asking. A hold belongs to its principal too: replaying,
// extending, confirming and releasing it take the same one.
type Principal struct {
	// Name identifies the principal; empty where nobody is known.
	Name string
	// Rights are what it may do beyond the ordinary, in every namespace.
	Rights Rights
	// Grants are for a principal whose rights differ from namespace to namespace. They
	// count instead of Rights. Nil means that Rights count everywhere.
	Grants Grants
}

// Grants say what a principal may do where. They are asked while commands are decided: the
// namespace of a reservation is known only then. All methods must be safe for concurrent
// use.
type Grants interface {
	// Allow reports whether the principal may apply a command to a reservation of this
	// namespace. A reservation for which it may not looks to it as if there were none.
	Allow(command Command, namespace string) bool
	// RightsIn returns what it may do beyond the ordinary in a namespace.
	RightsIn(namespace string) Rights
}

// Rights are what a principal may do beyond the ordinary, combined with |.
type Rights uint8

// The rights.
const (
	// ActForOthers lets a principal use the holds of others, with their tokens.
	ActForOthers Rights = 1 << iota
	// OverrideReserved lets it take reserved words.
	OverrideReserved
	// Operate lets it settle suspects, and change the rules of namespaces.
	Operate
)

// Has reports whether all of these rights are among the principal's Rights.
func (p Principal) Has(rights Rights) bool { return p.Rights&rights == rights }

// HasIn reports whether the principal has all of these rights in a namespace.
func (p Principal) HasIn(namespace string, rights Rights) bool {
	if p.Grants != nil {
		return p.Grants.RightsIn(namespace)&rights == rights
	}
	return p.Has(rights)
}

// Allows reports whether the principal may apply a command to a reservation of this namespace.
func (p Principal) Allows(command Command, namespace string) bool {
	return p.Grants == nil || p.Grants.Allow(command, namespace)
}

// mustOperate refuses something to a principal without the right to operate.
func mustOperate(what string) *Error {
	return &Error{Code: CodeNotOwner, Message: what + " takes the right to operate"}
}
