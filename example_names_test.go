package dibs_test

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/embedded"
	"github.com/calldibs/dibs/memstore"
	"github.com/calldibs/dibs/profile"
)

// secretOf stands for a function that reads a secret from the program's secret store.
func secretOf(name string) []byte {
	secret := sha256.Sum256([]byte(name))
	return secret[:]
}

// Each type of name has its own profile.
func ExamplePolicy_profiles() {
	policies := profile.Policies() // "slug", "username", "email" and "hostname"
	policies["slug"] = dibs.Policy{Profile: profile.Slug{MaxLength: 60}, Quarantine: 24 * hour}
	policies["team"] = dibs.Policy{Profile: profile.Username{MinLength: 3}}
	reg := open(dibs.Config{Policies: policies})
	defer reg.Close()

	name, err := reg.Claim(ctx, dibs.Claim{Namespace: "slug", Value: "Alice & Bob", Entity: wedding})
	check(err)
	fmt.Printf("%s, written %q\n", name.Key(), name.Value)
	_, err = reg.Claim(ctx, dibs.Claim{Namespace: "slug", Value: "ALICE + BOB", Entity: kit})
	fmt.Println(err)
	// Output:
	// slug:alice-bob, written "Alice & Bob"
	// dibs: NAME_TAKEN: slug:alice-bob is in use
}

// The defaults refuse reserved words, and usernames that mix scripts or look like another one.
// Each check can be switched off.
func ExamplePolicy_safeByDefault() {
	safe := open(dibs.Config{Policies: profile.Policies()})
	defer safe.Close()
	for _, username := range []string{"admin", "adm1n", "Аnn", "Ann"} { // the third begins with a Cyrillic letter
		_, err := safe.Reserve(ctx, dibs.Reserve{Namespace: "username", Value: username})
		fmt.Println(err)
	}

	reg := open(dibs.Config{Policies: profile.Defaults{AllowReserved: true}.Policies()})
	defer reg.Close()
	_, err := reg.Reserve(ctx, dibs.Reserve{Namespace: "username", Value: "admin"})
	fmt.Println(err)
	// Output:
	// dibs: RESERVED_WORD: "admin" is a reserved word here
	// dibs: RESERVED_WORD: "adm1n" looks like a word that is reserved here
	// dibs: INVALID_VALUE: the value "Аnn" is not valid here: mixes Cyrillic and Latin ("n" at byte 2): try "ann"
	// <nil>
	// <nil>
}

// Accounts: usernames without look-alikes, and emails that are not stored.
func ExamplePolicy_accounts() {
	words, err := profile.ReservedWords(profile.Words{Lists: profile.AllLists, LookAlikes: true})
	check(err)
	key := dibs.BlindKey{ID: "k1", Secret: secretOf("email-2026")}
	reg := open(dibs.Config{Policies: map[string]dibs.Policy{
		"username": {Profile: profile.OneScript(profile.Username{MinLength: 3}), Skeleton: profile.Confusables, ReservedWords: words},
		"email":    {Profile: profile.Email{}, Blind: []dibs.BlindKey{key}},
	}})
	defer reg.Close()

	signUp := func(username, email string) {
		_, err := reg.ReserveAll(ctx, dibs.ReserveAll{Reservations: []dibs.Reserve{
			{Namespace: "username", Value: username},
			{Namespace: "email", Value: email},
		}})
		refused, ok := errors.AsType[*dibs.Error](err)
		if !ok {
			fmt.Println("both are held")
			return
		}
		for _, f := range refused.Failures {
			fmt.Println(f.Err.Field, f.Err.Code, f.Err.Reason)
		}
	}
	signUp("Alice", "alice@example.com")
	signUp("a1ice", "Alice@Example.com")
	signUp("adm1n", "bob@example.com")
	// Output:
	// both are held
	// username NAME_TAKEN confusable
	// email NAME_TAKEN held
	// username RESERVED_WORD
}

// A refusal says which rule the value breaks, where, and what would be accepted. Suggestions
// were free at the time of the request.
func ExampleRefusal() {
	reg := open(dibs.Config{Policies: profile.Policies()})
	defer reg.Close()

	_, err := reg.Reserve(ctx, dibs.Reserve{Namespace: "username", Value: "Alice Smith"})
	if refused, ok := errors.AsType[*dibs.Error](err); ok && refused.Refusal != nil {
		fmt.Println(refused.Code, refused.Refusal.Rule, "at byte", refused.Refusal.At)
		fmt.Println("try", refused.Refusal.Try, "or one of", refused.Suggestions)
	}
	fmt.Println(err)
	// Output:
	// INVALID_VALUE space at byte 5
	// try alice-smith or one of [alice-smith alice-smith-2 alice-smith-3]
	// dibs: INVALID_VALUE: the value "Alice Smith" is not valid here: has a space (U+0020): try "alice-smith"
}

// A look-alike of a taken name is refused to all other entities.
func ExamplePolicy_lookAlikes() {
	reg := open(dibs.Config{Policies: map[string]dibs.Policy{
		"slug": {Profile: profile.Slug{}, Skeleton: profile.Confusables},
	}})
	defer reg.Close()
	give(reg, "aurora-kit", kit)

	_, err := reg.Claim(ctx, dibs.Claim{Namespace: "slug", Value: "aur0ra-kit", Entity: poster})
	if refused, ok := errors.AsType[*dibs.Error](err); ok {
		fmt.Println(refused.Code, refused.Reason)
	}
	// The entity itself may have look-alikes of its own name.
	_, err = reg.Rename(ctx, dibs.Rename{Namespace: "slug", Value: "aur0ra-kit", Entity: kit})
	check(err)
	show(reg, "aurora-kit")
	// Output:
	// NAME_TAKEN confusable
	// aurora-kit 301 to aur0ra-kit
}

// Suggestions from words that fit the person are better than numbers.
func ExampleCheckRequest_parts() {
	reg := open(dibs.Config{Policies: profile.Policies()})
	defer reg.Close()
	_, err := reg.Claim(ctx, dibs.Claim{Namespace: "username", Value: "Alice", Entity: wedding})
	check(err)

	answers, err := reg.Check(ctx, dibs.CheckRequest{
		Namespace: "username", Values: []string{"alice"}, Suggest: 3, Parts: []string{"liddell", "oxford"},
	})
	check(err)
	fmt.Println(answers[0].Reason, answers[0].Suggestions)
	// Output: in_use [alice-liddell alice-oxford alice-liddell-oxford]
}

// Emails are unique without being stored.
func ExampleBlindKey() {
	key := dibs.BlindKey{ID: "k1", Secret: secretOf("email-2026")}
	reg := open(dibs.Config{Policies: map[string]dibs.Policy{
		"email": {Profile: profile.Email{}, Blind: []dibs.BlindKey{key}},
	}})
	defer reg.Close()

	name, err := reg.Claim(ctx, dibs.Claim{Namespace: "email", Value: "Alice@Example.com", Entity: dibs.Entity{Type: "user", ID: "7"}})
	check(err)
	fmt.Println(name.Value == name.Canonical, name.Canonical)
	r, err := reg.Resolve(ctx, "email", "alice@example.com")
	check(err)
	fmt.Println(r.Status, r.Entity)
	_, err = reg.Reserve(ctx, dibs.Reserve{Namespace: "email", Value: "alice@example,com"})
	fmt.Println(err)
	// Output:
	// true k1.4cxfopb6wxq6futrma4ybu346qjvo3b2mlqg6x3tzzg6cvh6ygcq
	// 200 user/7
	// dibs: INVALID_VALUE: the value is not valid here: it breaks the rule comma
}

// Rotate a key, with the values from the user table.
func ExampleRegistry_Rekey() {
	emails := func(keys ...dibs.BlindKey) map[string]dibs.Policy {
		return map[string]dibs.Policy{"email": {Profile: profile.Email{}, Blind: keys}}
	}
	old := dibs.BlindKey{ID: "k1", Secret: secretOf("email-2026")}
	reg := openHere(dibs.Config{Policies: emails(old)})
	defer reg.Close()
	users := map[string]string{"7": "alice@example.com", "8": "bob@example.com"}
	for id, email := range users {
		_, err := reg.Claim(ctx, dibs.Claim{Namespace: "email", Value: email, Entity: dibs.Entity{Type: "user", ID: id}})
		check(err)
	}

	// 1. The new key goes in front of the old one, in one process after the other.
	next := dibs.BlindKey{ID: "k2", Secret: secretOf("email-2027")}
	check(reg.SetPolicies(emails(next, old), dibs.Policy{}))

	// 2. When all processes have it, Rekey every value once.
	for _, email := range users {
		_, err := reg.Rekey(ctx, dibs.Rekey{Namespace: "email", Value: email})
		check(err)
	}

	// 3. The report says what is left.
	report, err := reg.Recanonicalize(ctx, dibs.RecanonicalizeRequest{Namespace: "email"})
	check(err)
	fmt.Println(report.Counts[dibs.FindingUnfiled], "of", report.Looked, "left")

	// 4. Nothing is left: remove the old key.
	check(reg.SetPolicies(emails(next), dibs.Policy{}))
	r, err := reg.Resolve(ctx, "email", "alice@example.com")
	check(err)
	fmt.Println(r.Status, r.Entity)
	// Output:
	// 0 of 2 left
	// 200 user/7
}

// A namespace in use gets another profile: plan, resolve the collisions, run.
func ExampleRegistry_Recanonicalize() {
	store := memstore.New(memstore.Config{})
	today, err := embedded.Open(store, dibs.Config{Policies: map[string]dibs.Policy{}}) // dibs.Exact everywhere
	check(err)
	defer today.Close()
	give(today, "Spring", kit)
	give(today, "spring", poster)

	// A second program, with the new rules.
	next, err := embedded.Open(store, dibs.Config{Policies: map[string]dibs.Policy{"slug": {Profile: profile.Slug{}}}})
	check(err)
	defer next.Close()
	plan, err := next.Recanonicalize(ctx, dibs.RecanonicalizeRequest{Namespace: "slug", DryRun: true})
	check(err)
	for _, f := range plan.Findings {
		fmt.Println(f.Kind, f.Name.Value, f.Name.Entity, "and", f.With.Value, f.With.Entity)
	}

	// The two names would become one: rename one of them, by the old rules.
	_, err = today.Rename(ctx, dibs.Rename{Namespace: "slug", Value: "Spring Poster", Entity: poster})
	check(err)
	_, err = today.Decommission(ctx, dibs.Decommission{Namespace: "slug", Value: "spring", Entity: poster})
	check(err)

	report, err := next.Recanonicalize(ctx, dibs.RecanonicalizeRequest{Namespace: "slug"})
	check(err)
	fmt.Println(report.From, "→", report.To, report.Counts)
	show(next, "SPRING", "spring-poster")
	// Output:
	// collision Spring product/101 and spring product/102
	// exact/1 → slug/1 map[change:2]
	// SPRING 200
	// spring-poster 200
}

// Check new policies before they are set: existing names must not come under other rules.
func ExampleRegistry_CheckPolicies() {
	reg := openHere(dibs.Config{Policies: profile.Policies()})
	defer reg.Close()
	give(reg, "Spring Kit", kit)

	policies := profile.Policies()
	policies["slug"] = dibs.Policy{Profile: profile.Slug{MaxLength: 40}}
	err := reg.CheckPolicies(ctx, policies, dibs.Policy{})
	var other *dibs.OtherRulesError
	fmt.Println(errors.As(err, &other))
	fmt.Printf("%+v\n", other.Namespaces)
	// Output:
	// true
	// [{Namespace:slug OnRecord:slug/1 Policy:slug/1;max=40}]
}

// Change policies while the process runs.
func ExampleRegistry_SetPolicies() {
	reg := openHere(dibs.Config{Policies: profile.Policies()})
	defer reg.Close()

	words, err := profile.ReservedWords(profile.Words{Own: []string{"spring-sale"}})
	check(err)
	policies := profile.Policies()
	policies["slug"] = dibs.Policy{Profile: profile.Slug{}, ReservedWords: words}
	check(reg.SetPolicies(policies, dibs.Policy{}))

	_, err = reg.Claim(ctx, dibs.Claim{Namespace: "slug", Value: "Spring Sale", Entity: kit})
	fmt.Println(err)
	// Output: dibs: RESERVED_WORD: "spring-sale" is a reserved word here
}

// Two processes disagree on which names are the same: the one whose rules differ from those of
// the namespace gets no new names.
func ExamplePolicy_disagreement() {
	store := memstore.New(memstore.Config{})
	one, err := embedded.Open(store, dibs.Config{Policies: map[string]dibs.Policy{"slug": {Profile: profile.Slug{}}}})
	check(err)
	defer one.Close()
	give(one, "Spring", kit)

	other, err := embedded.Open(store, dibs.Config{Policies: map[string]dibs.Policy{"slug": {Profile: profile.Slug{MaxLength: 40}}}})
	check(err)
	defer other.Close()
	_, err = other.Claim(ctx, dibs.Claim{Namespace: "slug", Value: "Summer", Entity: poster})
	fmt.Println(errors.Is(err, dibs.ErrUnavailable))
	fmt.Println(err)
	show(other, "spring")
	// Output:
	// true
	// dibs: UNAVAILABLE: the names of slug follow the rules slug/1, but this process has slug/1;max=40: configure the same rules, or change the namespace with Recanonicalize
	// spring 200
}
