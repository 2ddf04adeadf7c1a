package coretest

import "github.com/calldibs/dibs"

// Claim returns the command with these fields.
func Claim(namespace, value string, entity dibs.Entity) dibs.Claim {
	return dibs.Claim{Namespace: namespace, Value: value, Entity: entity}
}

// Rename returns the command with these fields.
func Rename(namespace, value string, entity dibs.Entity) dibs.Rename {
	return dibs.Rename{Namespace: namespace, Value: value, Entity: entity}
}

// Reserve returns the command with these fields.
func Reserve(namespace, value, token string) dibs.Reserve {
	return dibs.Reserve{Namespace: namespace, Value: value, Token: token}
}

// Decommission returns the command with these fields.
func Decommission(namespace, value string, entity dibs.Entity) dibs.Decommission {
	return dibs.Decommission{Namespace: namespace, Value: value, Entity: entity}
}
