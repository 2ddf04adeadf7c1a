package routestore_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/calldibs/dibs/embedded"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/memstore"
	"github.com/calldibs/dibs/routestore"
)

// Names of acme and all below it are kept apart from all others.
func Example() {
	ctx := context.Background()
	eu, rest := memstore.New(memstore.Config{}), memstore.New(memstore.Config{}) // or any other engines
	store, err := routestore.Open(ctx, routestore.Config{Routes: []routestore.Route{
		{Name: "eu", Scopes: []string{"acme.*"}, Store: eu},
		{Name: "default", Scopes: []string{routestore.Everything}, Store: rest},
	}})
	if err != nil {
		panic(err)
	}
	registry, err := embedded.Open(store, dibs.Config{})
	if err != nil {
		panic(err)
	}
	defer registry.Close()

	name, err := registry.Claim(ctx, dibs.Claim{Namespace: "acme.slug", Value: "alice", Entity: dibs.Entity{Type: "user", ID: "1"}})
	fmt.Println(name.Key(), err)

	_, err = registry.ReserveAll(ctx, dibs.ReserveAll{Reservations: []dibs.Reserve{
		{Namespace: "acme.slug", Value: "bob"}, {Namespace: "globex.slug", Value: "bob"},
	}})
	fmt.Println(errors.Is(err, dibs.ErrInvalidNamespace))
	fmt.Println(err)
	// Output:
	// acme.slug:alice <nil>
	// true
	// dibs: INVALID_NAMESPACE: acme.slug and globex.slug are in different stores ("eu" and "default"), which cannot commit together: send two requests
}
