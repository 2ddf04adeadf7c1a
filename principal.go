package dibs

import "fmt"

const maxPrincipal = 255

// Principal is who is asking. A hold belongs to its principal too: replaying,
// extending, confirming and releasing it take the same one.
type Principal struct {
	// Name identifies the principal; empty where nobody is known.
	Name string
	// Rights are what it may do beyond the ordinary.
	Rights Rights
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

// Has reports whether the principal has all of these rights.
func (p Principal) Has(rights Rights) bool { return p.Rights&rights == rights }

func (p Principal) check() *Error {
	if problem := textProblem(p.Name, 0, maxPrincipal); problem != "" {
		return &Error{Code: CodeInvalidValue, Message: fmt.Sprintf("the principal's name %s", problem)}
	}
	return nil
}
