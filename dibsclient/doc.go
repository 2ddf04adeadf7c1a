// Package dibsclient connects to a registry on a server. [Dial] returns a [dibs.Registry]
// like that of package embedded: the same verbs, results and errors, over HTTP.
//
//	reg, err := dibsclient.Dial("https://names.example.com", dibsclient.Options{Key: key})
//	…
//	defer reg.Close()
//	hold, err := reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "alice-bob"})
//	if errors.Is(err, dibs.ErrNameTaken) { … }
//
// For a server that accepts tokens of an OpenID Connect issuer, set Options.Token. For one
// that requires client certificates, set Options.TLS.
//
// # Errors
//
// A refusal of the registry is a [*dibs.Error] with all its details, as from an embedded
// registry. A call can also fail in three other ways:
//
//   - UNAVAILABLE: nothing happened. The server cannot be reached, is overloaded, or has
//     lost its database.
//   - OUTCOME_UNKNOWN, for changes only: the request was sent and no response came back.
//     Read the current state, or repeat the command with the same token if it has one.
//   - A [*StatusError]: a response that does not come from the registry, such as 401 for a
//     wrong key, or a page of a proxy.
//
// When the context ends, a read returns the context's error. A change that was sent returns
// OUTCOME_UNKNOWN, and one that was not sent UNAVAILABLE; both wrap the context's error.
//
// # Retries
//
// The client repeats calls by itself, with exponential backoff, where that is safe.
//
// It repeats every call that certainly was not applied: the server could not be reached,
// answered UNAVAILABLE, or had too many requests.
//
// It repeats a call that may have been applied if that is a read or a dry run; if it is a
// Reserve, ReserveAll, ReserveFirst, Extend, Confirm or Release, since the token is a fencing
// token; and if it is a Rekey or a Sweep. It repeats a list if all of its commands may be
// repeated. The client generates a token for a reservation without one before it sends it. It
// never reports such a reservation as replayed, since no other caller has the token. It does
// report others as replayed if the first attempt was applied.
//
// All other calls return OUTCOME_UNKNOWN at once. A repeated Rename could undo a later one,
// and a repeated Delete could take names that the entity got in between. Read the current
// state, then decide whether to repeat the call.
//
// The client returns the refusal of a repeated call as it is, unless the refusal may be a
// consequence of the first attempt and a later change: an Extend, Confirm or Release whose
// hold is confirmed, released, lost, forgotten or at its maximum TTL by now, and any refusal
// of a list of commands of different kinds. The client then returns OUTCOME_UNKNOWN, which
// wraps the refusal; [errors.Is] finds both.
//
// # Differences to an embedded registry
//
// The server knows the principal by the key. So calls of [dibs.Registry.As] return
// [dibs.ErrUnsupported], and so do transactions of the caller's own. [dibs.Registry.Get]
// always returns the version of the entity, and [dibs.Registry.Recanonicalize] calls
// Progress once, at the end.
package dibsclient
