// Package dibsclient reaches a registry that a server keeps. [Dial] hands out the same
// [dibs.Registry] that [dibs.Open] does: the same verbs, results and errors, over HTTP.
//
//	reg, err := dibsclient.Dial("https://names.example.com", dibsclient.Options{Key: key})
//	…
//	defer reg.Close()
//	hold, err := reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "alice-bob"})
//	if errors.Is(err, dibs.ErrNameTaken) { … }
//
// A server that trusts an issuer of OpenID Connect is shown its tokens by Options.Token,
// and one that wants client certificates is shown one by Options.TLS.
//
// # Errors
//
// What the registry refuses is a [*dibs.Error] with all its details, as if the registry
// were in this process. Three further things can happen on the way:
//
//   - UNAVAILABLE: nothing happened. The server could not be reached, has too much to do,
//     or its engine is gone.
//   - OUTCOME_UNKNOWN, of changes alone: the request was on its way and no answer came back.
//     Look how things stand, or run it again with the same token where it has one.
//   - A [*StatusError]: an answer that is none of the registry's, such as 401 for a wrong
//     key, or a page of a proxy.
//
// When the context ends, reading returns the context's error. A change that was on its
// way is OUTCOME_UNKNOWN then, one that was not is UNAVAILABLE; both wrap the context's
// error.
//
// # Asking again
//
// Calls are repeated by themselves, with growing pauses, where that cannot do harm.
//
// What surely did not happen is repeated, whatever it is: the server could not be reached,
// said UNAVAILABLE, or had too many requests.
//
// What may have happened is repeated if it only reads, or is a dry run; if it is a Reserve,
// ReserveAll, ReserveFirst, Extend, Confirm or Release, since a token keeps it from touching
// what came after it; and if it is a Rekey or a Sweep. A list is repeated if all of its
// commands are. Reservations without a token are given one before they are sent; they are
// never reported as replayed, since nobody else can have had that token. The others are,
// where the first attempt took effect.
//
// Everything else returns OUTCOME_UNKNOWN at once. Repeated, a Rename could undo somebody's
// next one, and a Delete take names that the entity was given after it. Only the caller
// knows who else there is: look how things stand, then run it again or not.
//
// A refusal of what was repeated is returned as it is, unless it may be there because the
// first attempt was done and something else happened since: an Extend, Confirm or Release
// whose hold is confirmed, released, lost, forgotten or as long as it gets by now, and
// any refusal of a list of commands of different kinds. That is OUTCOME_UNKNOWN and wraps
// the refusal; [errors.Is] finds both.
//
// # What does not cross the network
//
// The server knows the principal by the key. A Registry of [dibs.Registry.As] is
// therefore refused with [dibs.ErrUnsupported], and so is a transaction of the caller's
// own. [dibs.Registry.Get] tells the version of the entity whether asked to or not, and
// the Progress of [dibs.Registry.Recanonicalize] is called once, at the end.
package dibsclient
