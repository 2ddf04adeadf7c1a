// Package dibshttp lets names stand in the URLs of a web application: a request for a
// present name goes to the application with the entity in its context, one for an old
// name is redirected, and one for no name is 404 or 410.
//
// It is middleware for net/http, and so for chi, gin, echo and all else that is an
// [http.Handler]:
//
//	names, err := dibshttp.New(registry, dibshttp.Config{Namespace: "slug", Prefix: "/w/"})
//	…
//	http.ListenAndServe(":8000", names.Wrap(mux))
//
// # Which requests
//
// The name is the segment of the path behind [Config.Prefix]: alice-bob in
// /w/alice-bob/photos. Requests without one, such as /w/ or /login, go to the
// application as they are. Names that stand elsewhere, in the host for one, take
// [Config.Value] and [Config.Location].
//
// # What the application sees
//
// [FromContext] returns the [Match]: entity, namespace and canonical name. Use that, and
// not the path.
//
// # What the client sees
//
//   - An old name: a redirect to the same URL with the present name in its place. The
//     rest of the path and the query are kept as they were sent. The status is that of
//     the namespace's policy, 301 if it has none; methods other than GET and HEAD get
//     308 for 301 and 307 for 302, so that they are sent again with their body.
//   - Another spelling of a name, such as /w/Alice%20Bob: 301 or 308 to the canonical
//     one, so that there is one URL for one thing. See [Config.AnySpelling].
//   - No such name, or one that nobody can have: 404. One that led somewhere once: 410.
//     What archived entities are is up to the policy.
//   - The registry cannot be reached: 503 with Retry-After.
//
// # How long it may be kept
//
// Names change hands. No answer may be kept for longer than [Config.MaxStale], and by
// default none at all: not redirects, which browsers otherwise keep for ever, not 404s,
// and not the application's own pages. Of the latter's Cache-Control, max-age and s-maxage
// are cut down to MaxStale, and what would prolong them is taken out. Where MaxStale is
// zero, or nothing is said about how long, it becomes no-cache: it may be kept, but
// everybody asks before using it. A page with an ETag is then still a 304.
//
// # Which registry
//
// A *dibs.Registry, embedded or of package dibsclient, or anything else that can resolve.
package dibshttp
