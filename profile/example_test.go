package profile_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/calldibs/dibs/embedded"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/memstore"
	"github.com/calldibs/dibs/profile"
)

// show prints the canonical forms of values, or their refusals.
func show(p dibs.Profile, values ...string) {
	for _, value := range values {
		canonical, err := p.Canonical(value)
		if err != nil {
			fmt.Printf("%s: %v\n", value, err)
			continue
		}
		fmt.Printf("%s → %s\n", value, canonical)
	}
}

func ExampleSlug() {
	show(profile.Slug{}, "Ünïcode & Füße", "北京", "!!!")
	show(profile.Slug{MaxLength: 16}, "The summer wedding of Alice")
	show(profile.Slug{Strict: true}, "alice-bob", "Alice & Bob")
	// Output:
	// Ünïcode & Füße → unicode-fusse
	// 北京 → bei-jing
	// !!!: has no letter or digit in it
	// The summer wedding of Alice → the-summer
	// alice-bob → alice-bob
	// Alice & Bob: has an upper-case letter at byte 0: try "alice-bob"
}

func ExampleUsername() {
	show(profile.Username{MinLength: 3}, "Alice_Smith.99", "MÜLLER", "Alice Smith", "al")
	// Output:
	// Alice_Smith.99 → alice_smith.99
	// MÜLLER → müller
	// Alice Smith: has a space (U+0020): try "alice-smith"
	// al: has 2 characters, fewer than the 3 needed
}

func ExampleEmail() {
	show(profile.Email{}, "Alice@Bücher.Example", "Alice <alice@example.com>", "a.lice+news@gmail.com")
	show(profile.Email{Providers: []profile.Provider{profile.Gmail}}, "a.lice+news@gmail.com")
	// Output:
	// Alice@Bücher.Example → alice@xn--bcher-kva.example
	// Alice <alice@example.com>: has more than an address: enter only the part between < and >: try "alice@example.com"
	// a.lice+news@gmail.com → a.lice+news@gmail.com
	// a.lice+news@gmail.com → alice@gmail.com
}

// A custom provider: a company's mail server that ignores what follows a "-".
func ExampleProvider() {
	own := profile.Provider{Name: "acme1", Domains: []string{"acme.example", "acme.test"}, Canonical: "acme.example", Separators: "-"}
	show(profile.Email{Providers: []profile.Provider{own, profile.Gmail}}, "alice-shop@acme.test", "bob-shop@other.example")
	// Output:
	// alice-shop@acme.test → alice@acme.example
	// bob-shop@other.example → bob-shop@other.example
}

func ExampleHostname() {
	show(profile.Hostname{}, "Acme-Inc", "Bücher", "acme.com")
	// Output:
	// Acme-Inc → acme-inc
	// Bücher → xn--bcher-kva
	// acme.com: is more than one label: try "acme-com"
}

func ExampleOneScript() {
	p := profile.OneScript(profile.Username{})
	fmt.Println(p.Name())
	show(p, "東京タワー", "p\u0430ypal") // with one Cyrillic letter
	// Output:
	// username/1;onescript
	// 東京タワー → 東京タワー
	// pаypal: mixes Latin and Cyrillic ("а" at byte 1): try "paypal"
}

func ExampleReservedWords() {
	words, err := profile.ReservedWords(profile.Words{
		Lists:      profile.AllLists,
		Own:        []string{"acme", "acme-shop"},
		Patterns:   []string{"admin*", "*-support", "??"},
		Except:     []string{"developers"},
		LookAlikes: true,
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range []string{"acme", "a.c.m.e", "4cme", "admin-anna", "acme-support", "hq", "developers", "acmeline"} {
		fmt.Println(name, words.Reserved(name))
	}
	// Output:
	// acme true
	// a.c.m.e true
	// 4cme true
	// admin-anna true
	// acme-support true
	// hq true
	// developers false
	// acmeline false
}

// A principal with the right can reserve a reserved word.
func ExampleReservedWords_override() {
	ctx := context.Background()
	words, err := profile.ReservedWords(profile.Words{Lists: []profile.List{profile.Roles}})
	if err != nil {
		log.Fatal(err)
	}
	reg, err := embedded.Open(memstore.New(memstore.Config{}), dibs.Config{Policies: map[string]dibs.Policy{
		"username": {Profile: profile.Username{}, ReservedWords: words},
	}})
	if err != nil {
		log.Fatal(err)
	}
	defer reg.Close()

	claim := dibs.Claim{Namespace: "username", Value: "Admin", Entity: dibs.Entity{Type: "user", ID: "1"}, OverrideReserved: true}
	customer := reg.As(dibs.Principal{Name: "customer"})
	_, err = customer.Claim(ctx, claim)
	fmt.Println(errors.Is(err, dibs.ErrReservedWord))
	clerk := reg.As(dibs.Principal{Name: "clerk", Rights: dibs.OverrideReserved})
	name, err := clerk.Claim(ctx, claim)
	fmt.Println(name.Key(), err)
	// Output:
	// true
	// username:admin <nil>
}

// All look-alikes have the same skeleton.
func Example_confusables() {
	for _, name := range []string{"paypal", "paypa1", "\u0440\u0430\u0443\u0440\u0430l", "paypai"} {
		fmt.Println(profile.Confusables.Skeleton(name))
	}
	// Output:
	// paypal
	// paypal
	// paypal
	// paypai
}
