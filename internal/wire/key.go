package wire

// Grant allows verbs in namespaces.
type Grant struct {
	Verbs      []string `json:"verbs" nullable:"false" example:"[\"read\",\"hold\"]" doc:"Verbs, and the groups read, watch, hold, own, operate and all."`
	Namespaces []string `json:"namespaces" nullable:"false" example:"[\"acme.*\"]" doc:"Patterns: * is all namespaces, acme.* the scope acme and all below it, acme.slug one namespace."`
}

// Key is an API key.
type Key struct {
	Name       string  `json:"name" example:"checkout" doc:"The principal of its calls."`
	Prefix     string  `json:"prefix,omitempty" example:"k7pq2mzx" doc:"The part of the secret that identifies it in logs."`
	Grants     []Grant `json:"grants" nullable:"false"`
	CreatedAt  string  `json:"createdAt,omitempty" format:"date-time"`
	CreatedBy  string  `json:"createdBy,omitempty" doc:"The principal that made it; absent if that was anonymous, or a command on the store itself."`
	ExpiresAt  string  `json:"expiresAt,omitempty" format:"date-time" doc:"Absent if it does not expire."`
	DeclaredIn string  `json:"declaredIn,omitempty" example:"dibs.toml:12" doc:"The line of the server's configuration that declares it. Such a key can be changed and revoked only there."`

	Secret string `json:"secret,omitempty" doc:"What requests send after Bearer. It is shown only once, when the key is made."`
}

// KeyRequest asks for a key.
type KeyRequest struct {
	Name      string  `json:"name" example:"checkout" doc:"1 to 64 of a-z, 0-9, dot, hyphen and underscore; no other key has it."`
	Grants    []Grant `json:"grants" nullable:"false" doc:"What it allows. A caller cannot give a right that it does not have itself."`
	ExpiresAt string  `json:"expiresAt,omitempty" format:"date-time" doc:"Default: never; required of a caller whose own key expires, and no later than that."`
}

// KeyList is the list of keys that a caller may manage, by name.
type KeyList struct {
	Keys []Key `json:"keys" nullable:"false"`
}

// Revoked says which key was revoked.
type Revoked struct {
	Revoked string `json:"revoked" example:"checkout"`
}
