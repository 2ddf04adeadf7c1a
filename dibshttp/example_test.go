package dibshttp_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/calldibs/dibs/embedded"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibshttp"
	"github.com/calldibs/dibs/memstore"
)

func Example() {
	reg := renamed() // alice-bob is now the-smiths
	defer reg.Close()

	names, err := dibshttp.New(reg, dibshttp.Config{Namespace: "slug", Prefix: "/w/", MaxStale: time.Minute})
	check(err)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /w/{slug}/photos", func(w http.ResponseWriter, r *http.Request) {
		match, _ := dibshttp.FromContext(r.Context())
		fmt.Fprintf(w, "photos of %s", match.Entity)
	})
	site := names.Wrap(mux)

	get(site, "/w/the-smiths/photos")
	get(site, "/w/alice-bob/photos?page=2")
	get(site, "/w/nobody/photos")
	// Output:
	// 200 photos of wedding/42
	// 301 to /w/the-smiths/photos?page=2, max-age=60, must-revalidate
	// 404 Not Found
}

// Each tenant has its own namespace and its own host.
func ExampleConfig_tenants() {
	reg := renamed()
	defer reg.Close()

	names, err := dibshttp.New(reg, dibshttp.Config{
		NamespaceOf: func(r *http.Request) string {
			tenant, _, _ := strings.Cut(r.Host, ".")
			return tenant + ".slug"
		},
	})
	check(err)
	get(names.Wrap(http.NotFoundHandler()), "http://acme.example.com/the-smiths")
	// Output: 404 Not Found
}

// The name is in the host: the-smiths.example.com.
func ExampleConfig_hosts() {
	reg := renamed()
	defer reg.Close()

	names, err := dibshttp.New(reg, dibshttp.Config{
		Namespace: "slug",
		Value:     func(r *http.Request) (string, bool) { return strings.CutSuffix(r.Host, ".example.com") },
		Location: func(r *http.Request, canonical string) string {
			return "https://" + canonical + ".example.com" + r.URL.RequestURI()
		},
	})
	check(err)
	get(names.Wrap(http.NotFoundHandler()), "http://alice-bob.example.com/photos")
	// Output: 301 to https://the-smiths.example.com/photos, no-store
}

// The browser gets the refusal of the registry.
func ExampleWriteProblem() {
	reg := renamed()
	defer reg.Close()

	signUp := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := reg.Reserve(r.Context(), dibs.Reserve{Namespace: "slug", Value: r.FormValue("slug")})
		if err != nil {
			dibshttp.WriteProblem(w, err)
			return
		}
		fmt.Fprint(w, "it is yours for five minutes")
	})
	get(signUp, "/?slug=the-joneses")
	get(signUp, "/?slug=The+Smiths")
	// Output:
	// 200 it is yours for five minutes
	// 409 {"type":"urn:dibs:problem:name-taken","title":"Name taken","status":409,"detail":"slug:the-smiths is in use","code":"NAME_TAKEN","error":"slug_taken","field":"slug","namespace":"slug","key":"slug:the-smiths","reason":"in_use","suggestions":["the-smiths-2","the-smiths-3","the-smiths-4"]}
}

// renamed returns a registry with a renamed entity.
func renamed() *dibs.Registry {
	reg, err := embedded.Open(memstore.New(memstore.Config{}), dibs.Config{})
	check(err)
	wedding := dibs.Entity{Type: "wedding", ID: "42"}
	_, err = reg.Apply(context.Background(),
		dibs.Claim{Namespace: "slug", Value: "alice-bob", Entity: wedding},
		dibs.Rename{Namespace: "slug", Value: "the-smiths", Entity: wedding})
	check(err)
	return reg
}

// get prints a response.
func get(site http.Handler, url string) {
	response := httptest.NewRecorder()
	site.ServeHTTP(response, httptest.NewRequest(http.MethodGet, url, http.NoBody))
	if to := response.Header().Get("Location"); to != "" {
		fmt.Printf("%d to %s, %s\n", response.Code, to, response.Header().Get("Cache-Control"))
		return
	}
	fmt.Println(response.Code, response.Body)
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
