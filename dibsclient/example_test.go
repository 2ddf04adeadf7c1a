package dibsclient_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"

	"github.com/calldibs/dibs/embedded"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibsclient"
	"github.com/calldibs/dibs/memstore"
)

func Example() {
	url, stop := serve("dibs_key") // a server in this process, only for the example
	defer stop()
	reg, err := dibsclient.Dial(url, dibsclient.Options{Key: "dibs_key"})
	check(err)
	defer reg.Close()

	ctx := context.Background()
	hold, err := reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "alice-bob"})
	check(err)
	_, err = reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "alice-bob"})
	if taken, ok := errors.AsType[*dibs.Error](err); ok {
		fmt.Println(taken.Code, taken.Reason)
	}
	wedding := dibs.Entity{Type: "wedding", ID: "42"}
	name, err := reg.Confirm(ctx, dibs.Confirm{ID: hold.ID, Token: hold.Token, Entity: wedding})
	check(err)
	fmt.Println(name.Key(), "belongs to", name.Entity)
	// Output:
	// NAME_TAKEN held
	// slug:alice-bob belongs to wedding/42
}

// serve serves a registry in memory that requires the key.
func serve(key string) (url string, stop func()) {
	names, err := embedded.Open(memstore.New(memstore.Config{}), dibs.Config{})
	check(err)
	server := httptest.NewServer(newHandler(names, key))
	return server.URL, func() {
		server.Close()
		check(names.Close())
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
