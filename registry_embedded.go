package dibs

import (
	"context"
	"fmt"
)

var (
	errRemotePolicies    = fmt.Errorf("%w: the policies are those of the server: change them there", ErrUnsupported)
	errRemoteTransaction = fmt.Errorf("%w: a registry on a server cannot join a transaction of this process", ErrUnsupported)
)

// Policy returns an embedded Registry's policy for a namespace, with every default filled in.
func (r *Registry) Policy(namespace string) (Policy, error) {
	b, ok := r.backend.(EmbeddedBackend)
	if !ok {
		return Policy{}, errRemotePolicies
	}
	return b.Policy(namespace)
}

// SetPolicies replaces all policies of an embedded Registry at once: each command is decided by
// the old ones or by the new ones. byNamespace and fallback are the Policies and the Default of
// a [Config]. If one of them is not valid, SetPolicies changes nothing.
//
// If the rules for which names are the same change, run [Registry.Recanonicalize] too, before or
// after; [Registry.CheckPolicies] finds the namespaces.
func (r *Registry) SetPolicies(byNamespace map[string]Policy, fallback Policy) error {
	b, ok := r.backend.(EmbeddedBackend)
	if !ok {
		return errRemotePolicies
	}
	return b.SetPolicies(byNamespace, fallback)
}

// CheckPolicies says whether policies can replace those of an embedded Registry, and changes
// nothing. It returns an [*OtherRulesError] if existing names were made by other rules: the
// namespaces in it get no new names until [Registry.Recanonicalize] has changed them. A
// namespace that is being changed to the new rules is not in it.
func (r *Registry) CheckPolicies(ctx context.Context, byNamespace map[string]Policy, fallback Policy) error {
	b, ok := r.backend.(EmbeddedBackend)
	if !ok {
		return errRemotePolicies
	}
	return b.CheckPolicies(ctx, byNamespace, fallback)
}

// InTransaction is for engines; programs call the WithTx of an engine instead. It returns a
// Registry with the rules and policies of r on the store that bind returns. That store is bound
// to a transaction of the caller, and commands take effect when the transaction commits. bind
// gets the store of r. If bind fails, or r works on a server, every verb of the new Registry
// returns the error.
//
// The new Registry is not safe for concurrent use. Closing it does nothing.
func (r *Registry) InTransaction(bind func(Store) (Store, error)) *Registry {
	err := errRemoteTransaction
	if b, ok := r.backend.(EmbeddedBackend); ok {
		var bound Backend
		if bound, err = b.InTransaction(bind); err == nil {
			return &Registry{backend: bound, principal: r.principal}
		}
	}
	return &Registry{backend: FailingBackend(err), principal: r.principal}
}
