// Onereserve reserves one name. The table of functions in docs/architecture.md is checked by what it runs.
package main

import (
	"context"
	"log"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/core"
	"github.com/calldibs/dibs/memstore"
)

func main() {
	reg, err := core.Open(memstore.New(memstore.Config{}), dibs.Config{Policies: map[string]dibs.Policy{"slug": {MaxHolds: 1}}})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := reg.Reserve(context.Background(), dibs.Reserve{Namespace: "slug", Value: "spring"}); err != nil {
		log.Fatal(err)
	}
	if err := reg.Close(); err != nil {
		log.Fatal(err)
	}
}
