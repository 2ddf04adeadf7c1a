//go:build unix

package crashtest_test

import (
	"context"
	"errors"
	"time"

	"github.com/calldibs/dibs"
)

// Flows that hold names while something else happens. After a crash the program that comes back
// does the same again, with the same token; if it never comes back, the witness decides.

var wedding = dibs.Entity{Type: "wedding", ID: "42"}

const token = "the-token-of-the-program"

// lookFor is a policy whose witness says that an entity exists if this was saved. It may say absent:
// the process that could save it is dead.
func lookFor(w *world, saved string) dibs.Policy {
	return dibs.Policy{DefaultTTL: time.Minute, Witness: func(_ context.Context, hold dibs.SuspectHold) (dibs.Verdict, error) {
		if _, ok := w.saved(saved); ok {
			return dibs.Exists(hold.Entity), nil
		}
		return dibs.Absent, nil
	}}
}

func weddings(w *world) map[string]dibs.Policy {
	return map[string]dibs.Policy{"slug": lookFor(w, "wedding")}
}

// marry is a program that saves a wedding under a name.
func marry(w *world, ttl dibs.TTL, save func(ctx context.Context) error) {
	w.Helper()
	reserve := dibs.Reserve{Namespace: "slug", Value: "alice-bob", Token: token, Entity: wedding, TTL: ttl}
	for {
		_, err := w.registry().Do(w.ctx(), reserve, func(ctx context.Context, _ dibs.Hold) (dibs.Entity, error) { return wedding, save(ctx) })
		if _, undecided := errors.AsType[*dibs.DoError](err); undecided {
			continue // the machine is so busy that the hold ended
		}
		if err != nil && !errors.Is(err, dibs.ErrAlreadyConfirmed) { // which says that an earlier process got this far
			w.Fatalf("%v", err)
		}
		w.tell("married")
		return
	}
}

func saveWedding(w *world) func(context.Context) error {
	return func(context.Context) error {
		w.save("wedding", "")
		return nil
	}
}

func simpleDo(w *world) { marry(w, dibs.TTL{}, saveWedding(w)) }

// slowDo saves the wedding after the hold was extended, as a slow program does.
func slowDo(w *world) {
	marry(w, dibs.For(time.Second), func(ctx context.Context) error {
		if w.life != nil {
			select {
			case <-w.life.next(): // only Do itself uses the registry meanwhile
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return saveWedding(w)(ctx)
	})
}

// wantWedding demands that the wedding and its name are there.
func wantWedding(w *world) {
	w.Helper()
	if _, saved := w.saved("wedding"); !saved {
		w.Error("the wedding is not saved")
	}
	w.wantOwned("slug", "alice-bob", wedding)
	w.wantOnce("slug", "alice-bob", dibs.EventConfirmed)
}

// wantWeddingOrNothing demands that the wedding and its name are there, or neither.
func wantWeddingOrNothing(w *world) {
	w.Helper()
	if _, saved := w.saved("wedding"); saved {
		wantWedding(w)
		return
	}
	if w.told("married") {
		w.Error("the program said that it saved the wedding")
	}
	w.wantAvailable("slug", "alice-bob")
}

// sweepLater is what happens to the holds of a program that never comes back.
func sweepLater(w *world) {
	w.wait(time.Hour)
	w.sweep()
}

var errFull = errors.New("the wedding could not be saved")

// failingDo reserves a name for a wedding that cannot be saved.
func failingDo(w *world) {
	reserve := dibs.Reserve{Namespace: "slug", Value: "alice-bob", Token: token, Entity: wedding}
	_, err := w.registry().Do(w.ctx(), reserve, func(context.Context, dibs.Hold) (dibs.Entity, error) { return dibs.Entity{}, errFull })
	if !errors.Is(err, errFull) && !errors.Is(err, dibs.ErrAlreadyReleased) {
		w.Fatalf("%v", err)
	}
}

// The checkout flow is that of docs/signup.md.

var account = dibs.Entity{Type: "account", ID: "7"}

func accounts(w *world) map[string]dibs.Policy {
	policy := lookFor(w, "payment")
	return map[string]dibs.Policy{"email": policy, "username": policy, "tenant": policy}
}

var signUpNames = []dibs.Reserve{
	{Namespace: "email", Value: "ann@example.com", Entity: account},
	{Namespace: "username", Value: "ann", Entity: account},
	{Namespace: "tenant", Value: "acme", Entity: account},
}

// reserveAttempt saves the attempt and reserves its names.
func reserveAttempt(w *world) ([]dibs.Hold, error) {
	w.save("attempt", dibs.NewToken())
	attempt, _ := w.saved("attempt")
	return w.registry().ReserveAll(w.ctx(), dibs.ReserveAll{Token: attempt, Reservations: signUpNames})
}

// signUp runs all steps of a sign-up, whatever an earlier process has done.
func signUp(w *world) {
	holds, err := reserveAttempt(w)
	if err == nil {
		w.save("payment", "")
		_, err = w.registry().ConfirmAll(w.ctx(), holds, account)
	}
	if err != nil && !errors.Is(err, dibs.ErrAlreadyConfirmed) {
		w.Fatalf("%v", err)
	}
	w.tell("signed up")
}

// giveUp is a sign-up whose card is declined: the names are released, and then the attempt is over.
func giveUp(w *world) {
	if _, over := w.saved("over"); over {
		return
	}
	holds, err := reserveAttempt(w)
	if err == nil {
		w.save("declined", "")
		_, err = w.registry().ReleaseAll(w.ctx(), holds)
	}
	if err != nil && !errors.Is(err, dibs.ErrAlreadyReleased) {
		w.Fatalf("%v", err)
	}
	w.save("over", "")
}

func wantAccount(w *world) {
	w.Helper()
	for _, n := range signUpNames {
		w.wantOwned(n.Namespace, n.Value, account)
		w.wantOnce(n.Namespace, n.Value, dibs.EventConfirmed)
	}
}

func wantNoAccount(w *world) {
	w.Helper()
	for _, n := range signUpNames {
		w.wantAvailable(n.Namespace, n.Value)
	}
}

func wantAccountOrNothing(w *world) {
	w.Helper()
	if _, paid := w.saved("payment"); paid {
		wantAccount(w)
		return
	}
	if w.told("signed up") {
		w.Error("the program said that the account is there, and it is not paid")
	}
	wantNoAccount(w)
}

// A transaction of the caller has a row and its name.

var product = dibs.Entity{Type: "product", ID: "101"}

func products(*world) map[string]dibs.Policy { return map[string]dibs.Policy{"slug": {}} }

func createProducts(w *world) {
	w.registry() // creates the tables of Dibs
	tx := w.begin()
	w.check(tx.exec("CREATE TABLE products (id INTEGER PRIMARY KEY)"))
	w.check(tx.commit())
}

// begin begins a transaction of the program's own.
func (w *world) begin() transaction {
	w.Helper()
	tx := engines[w.site.Engine].begin(w, w.site.Address, "names")
	w.txs = append(w.txs, tx)
	return tx
}

func countProducts(w *world) int {
	w.Helper()
	tx := w.begin()
	n := must[int](w)(tx.count("SELECT count(*) FROM products WHERE id = 101"))
	w.check(tx.commit())
	return n
}

// addProduct inserts a product and claims its name, in one transaction.
func addProduct(w *world) {
	reg := w.registry()
	tx := w.begin()
	w.check(doOnly(w.life, write("INSERT"), func() error { return tx.exec("INSERT INTO products VALUES (101)") }))
	_, err := tx.bind(reg).Claim(w.ctx(), dibs.Claim{Namespace: "slug", Value: "kite", Entity: product})
	w.check(err)
	w.check(doOnly(w.life, write("COMMIT"), tx.commit))
	w.tell("added")
}

// addProductAgain looks whether the product is there, as a program does that got no answer to COMMIT.
func addProductAgain(w *world) {
	if countProducts(w) == 0 {
		addProduct(w)
	}
}

// wantTogether demands that product and name are both there, or neither.
func wantTogether(w *world) {
	w.Helper()
	n, name := countProducts(w), w.name("slug", "kite")
	if owned := name.State == dibs.Active && name.Entity == product; owned != (n == 1) || n == 0 && w.told("added") {
		w.Errorf("there are %d products, the name is %s, and the program was told %v", n, name.State, w.told("added"))
	}
}

func wantProduct(w *world) {
	w.Helper()
	wantTogether(w)
	w.wantOwned("slug", "kite", product)
	w.wantOnce("slug", "kite", dibs.EventClaimed)
}
