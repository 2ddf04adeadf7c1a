package dibs

// Principal is the caller on whose behalf a command runs. A hold belongs to its principal: no
// other one can replay, extend, confirm or release it without the right [ActForOthers]. The
// zero Principal has no name and no rights.
type Principal struct {
	// Name identifies the principal. Empty means an unknown one.
	Name string
	// Rights apply in every namespace.
	Rights Rights
	// Grants replace Rights if they differ between namespaces. Nil means that Rights apply.
	Grants Grants
}

// Grants say what a principal may do in each namespace. Decisions call them, because the
// namespace of a reservation is not known before. All methods must be safe for concurrent use.
type Grants interface {
	// Allow reports whether the principal may apply a command to a reservation of this
	// namespace. If not, the registry answers as if the reservation did not exist.
	Allow(command Command, namespace string) bool
	// RightsIn returns the principal's rights in a namespace.
	RightsIn(namespace string) Rights
}

// Rights are permissions beyond the ordinary ones, combined with |.
type Rights uint8

// The rights.
const (
	// ActForOthers allows using the holds of other principals, with their tokens.
	ActForOthers Rights = 1 << iota
	// OverrideReserved allows taking reserved words.
	OverrideReserved
	// Operate allows Settle, Recanonicalize and Forget.
	Operate
)

// Has reports whether Rights contain all of these rights. It ignores Grants.
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

// needsOperate refuses a verb to a principal without the right to operate.
func needsOperate(verb string) *Error {
	return &Error{Code: CodeNotOwner, Message: verb + " needs the right to operate"}
}
