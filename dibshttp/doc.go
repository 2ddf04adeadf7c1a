// Package dibshttp is middleware for names in the URLs of a web application. It passes a
// request for a current name to the application, with the entity in its context. It
// redirects a request for an old name, and responds with 404 or 410 to one for no name.
//
// It works with net/http, and so with chi, gin, echo and every other [http.Handler]:
//
//	names, err := dibshttp.New(registry, dibshttp.Config{Namespace: "slug", Prefix: "/w/"})
//	…
//	http.ListenAndServe(":8000", names.Wrap(mux))
//
// # Which requests
//
// The name is the segment of the path after [Config.Prefix]: alice-bob in
// /w/alice-bob/photos. The middleware passes requests without a name, such as /w/ or
// /login, to the application unchanged. For names in another place, such as the host, set
// [Config.Value] and [Config.Location].
//
// # What the application gets
//
// [FromContext] returns the [Match]: entity, namespace and canonical name. Use that instead
// of the path.
//
// # What the client gets
//
//   - For an old name: a redirect to the same URL with the current name. The rest of the
//     path and the query stay as they were sent. The status is that of the namespace's
//     policy, by default 301. For methods other than GET and HEAD, 301 becomes 308 and 302
//     becomes 307, so that the client repeats the request with its body.
//   - For another spelling of a name, such as /w/Alice%20Bob: 301 or 308 to the canonical
//     one, so that each page has one URL. See [Config.AnySpelling].
//   - For an unknown or invalid name: 404. For a name that led somewhere before: 410. For
//     archived entities the policy decides.
//   - If the registry cannot be reached: 503 with Retry-After.
//
// # Caching
//
// Names change hands. No cache may keep a response for longer than [Config.MaxStale], and
// by default not at all: not redirects, which browsers otherwise keep for ever, not 404s,
// and not the application's own pages. In the Cache-Control of a page, the middleware lowers
// max-age and s-maxage to MaxStale and removes directives that prolong them. If MaxStale is
// zero, or the page has no max-age, Cache-Control becomes no-cache: a cache may keep the page
// but must revalidate it before each use, so a page with an ETag still gets a 304.
//
// # Errors
//
// [WriteProblem] passes an error of a registry on to the client, as a Dibs server would.
//
// # Which registry
//
// A *dibs.Registry, embedded or from package dibsclient, or any other [Resolver].
package dibshttp
