package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibshttp"
	"github.com/calldibs/dibs/embedded"
	"github.com/calldibs/dibs/memstore"
	"github.com/calldibs/dibs/profile"
)

// routers are the examples by their names on the command line.
var routers = map[string]func(*dibshttp.Names) http.Handler{
	"net/http": withNetHTTP,
	"chi":      withChi,
	"gin":      withGin,
	"echo":     withEcho,
}

func main() {
	if len(os.Args) != 2 || routers[os.Args[1]] == nil {
		log.Fatal("usage: web net/http|chi|gin|echo")
	}
	registry, err := openRegistry(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	names, err := newNames(registry)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("http://localhost:8000/w/alice-bob/photos?page=2")
	log.Fatal(http.ListenAndServe("localhost:8000", routers[os.Args[1]](names)))
}

// newNames returns the middleware. Names follow /w/ in the path.
func newNames(registry *dibs.Registry) (*dibshttp.Names, error) {
	return dibshttp.New(registry, dibshttp.Config{Namespace: "slug", Prefix: "/w/", MaxStale: time.Minute})
}

// openRegistry returns a registry in memory in which alice-bob was renamed to the-smiths and
// the-joneses was deleted. An application would use a database or a server.
func openRegistry(ctx context.Context) (*dibs.Registry, error) {
	registry, err := embedded.Open(memstore.New(memstore.Config{}), dibs.Config{
		Policies: map[string]dibs.Policy{"slug": {Profile: profile.Slug{}, Quarantine: time.Hour}},
	})
	if err != nil {
		return nil, err
	}
	smiths, joneses := dibs.Entity{Type: "wedding", ID: "42"}, dibs.Entity{Type: "wedding", ID: "43"}
	_, err = registry.Apply(ctx,
		dibs.Claim{Namespace: "slug", Value: "Alice & Bob", Entity: smiths},
		dibs.Rename{Namespace: "slug", Value: "The Smiths", Entity: smiths},
		dibs.Claim{Namespace: "slug", Value: "The Joneses", Entity: joneses},
		dibs.Delete{Entity: joneses})
	return registry, err
}
