// Command shop is a web shop: an account has an email, a username and a tenant, which no other one has: docs/signup.md.
package main

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibsclient"
	"github.com/calldibs/dibs/dibshttp"
	_ "modernc.org/sqlite" // the driver of the shop's database
)

var names, db = must(dibsclient.Dial(cmp.Or(os.Getenv("SHOP_DIBS"), "http://localhost:8080"), dibsclient.Options{})), must(sql.Open("sqlite", "file:"+cmp.Or(os.Getenv("SHOP_DATA"), "shop.db")+"?_pragma=busy_timeout(5000)"))

type attempt struct{ email, username, tenant, id, token, payment string } // when it is paid, it is an account

type refusal int // the status of an answer of the shop itself
var details = map[refusal]string{400: "the cookie session is missing", 401: "sign up first", 402: "the payment failed, and the names are free again", 202: "we have sent you a mail"}

func (r refusal) Error() string       { return details[r] }
func (a attempt) entity() dibs.Entity { return dibs.Entity{Type: "account", ID: a.id} }

// signUp finds in each step what an earlier try has done: the same request again is always right.
func signUp(ctx context.Context, session string, f attempt) error {
	a := find("session", session)
	if other := a.email != f.email || a.username != f.username || a.tenant != f.tenant; a.payment == "declined" || other && a.id != "" {
		if err := giveUp(ctx, a); err != nil {
			return err
		}
	}
	// The attempt is saved before the first call: a person who comes back has the same token.
	must(db.Exec("INSERT OR IGNORE INTO attempts VALUES (?, ?, ?, ?, ?, ?, '')", session, f.email, f.username, f.tenant, dibs.NewToken(), dibs.NewToken()))
	a = find("session", session)
	holds, err := reserve(ctx, a)
	if err == nil && !pay(a) {
		return cmp.Or[error](giveUp(ctx, a), refusal(http.StatusPaymentRequired))
	} else if err == nil {
		_, err = names.ConfirmAll(ctx, holds, a.entity())
	}
	switch spent := errors.Is(err, dibs.ErrAlreadyReleased) || errors.Is(err, dibs.ErrAlreadyExpired); {
	case errors.Is(err, dibs.ErrAlreadyConfirmed): // by an earlier try, whose answer was lost
		return nil
	case spent && !settle(a.id):
		return signUp(ctx, session, f) // with a new token
	case err != nil && dibshttp.HideTaken(err, "email") == nil: // the browser must not learn this: a real shop sends a mail to the person who has it
		return refusal(http.StatusAccepted)
	}
	return err // the same attempt may still succeed
}

func reserve(ctx context.Context, a attempt) ([]dibs.Hold, error) {
	return names.ReserveAll(ctx, dibs.ReserveAll{Token: a.token, Reservations: []dibs.Reserve{
		{Namespace: "email", Value: a.email, Entity: a.entity()},
		{Namespace: "username", Value: a.username, Entity: a.entity()},
		{Namespace: "tenant", Value: a.tenant, Entity: a.entity()},
	}})
}

// pay pays for an attempt, once. A bank would take the attempt's id as its idempotency key.
func pay(a attempt) bool {
	must(db.Exec("UPDATE attempts SET payment = iif(abs(random()) % 100 < 0+?, 'declined', 'paid') WHERE id = ? AND payment = ''", cmp.Or(os.Getenv("SHOP_DECLINES"), "20"), a.id))
	return find("id", a.id).payment == "paid"
}

// giveUp frees the names of an attempt, which then can no longer be paid, and forgets it.
func giveUp(ctx context.Context, a attempt) error {
	if n := must(must(db.Exec("UPDATE attempts SET payment = 'declined' WHERE id = ? AND payment != 'paid'", a.id)).RowsAffected()); n == 0 {
		return nil // it is paid, or gone
	}
	holds, err := reserve(ctx, a)
	if err == nil {
		_, err = names.ReleaseAll(ctx, holds)
	}
	if err != nil && (!errors.As(err, new(*dibs.Error)) || errors.Is(err, dibs.ErrUnavailable) || errors.Is(err, dibs.ErrOutcomeUnknown)) {
		return err // the next visit tries again: with another token the names would be taken
	}
	settle(a.id) // also after a refusal: then there is no such hold
	return nil
}

// settle removes an attempt that is not paid, so that it never will be, and reports whether there is an account.
func settle(id string) (exists bool) {
	must(db.Exec("DELETE FROM attempts WHERE id = ? AND payment != 'paid'", id))
	return find("id", id).id != ""
}

func find(column, value string) (a attempt) {
	if err := db.QueryRow("SELECT email, username, tenant, id, token, payment FROM attempts WHERE "+column+" = ?", value).Scan(&a.email, &a.username, &a.tenant, &a.id, &a.token, &a.payment); !errors.Is(err, sql.ErrNoRows) {
		must(a, err)
	}
	return a
}

// handle answers a request with the account. A closed tab does not stop what it began.
func handle(pattern string, change func(ctx context.Context, session string, f attempt) error) {
	http.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		session, err := r.Cookie("session")
		if err == nil {
			err = change(context.WithoutCancel(r.Context()), session.Value, attempt{email: r.FormValue("email"), username: r.FormValue("username"), tenant: r.FormValue("tenant")})
		}
		if own := refusal(http.StatusBadRequest); errors.Is(err, http.ErrNoCookie) || errors.As(err, &own) {
			w.WriteHeader(int(own))
			fmt.Fprintf(w, `{"status": %d, "detail": %q}`, own, own.Error())
		} else if err != nil {
			log.Print(err)
			dibshttp.WriteProblem(w, dibshttp.HideTaken(err, "email"))
		} else {
			fmt.Fprintf(w, `{"account": %q}`, find("session", session.Value).id)
		}
	})
}

func onAccount(pattern string, command func(dibs.Entity, attempt) dibs.Command) {
	handle(pattern, func(ctx context.Context, session string, f attempt) error {
		a := find("session", session)
		if a.payment != "paid" {
			return refusal(http.StatusUnauthorized)
		}
		_, err := names.Apply(ctx, command(a.entity(), f))
		return err
	})
}

func main() {
	must(db.Exec("CREATE TABLE IF NOT EXISTS attempts (session TEXT PRIMARY KEY, email TEXT, username TEXT, tenant TEXT, id TEXT, token TEXT, payment TEXT)"))
	handle("POST /signup", signUp)
	onAccount("PUT /account", func(e dibs.Entity, f attempt) dibs.Command {
		return dibs.Rename{Namespace: "username", Value: f.username, Entity: e}
	})
	onAccount("DELETE /account", func(e dibs.Entity, _ attempt) dibs.Command { return dibs.Archive{Entity: e} })
	onAccount("POST /account/restore", func(e dibs.Entity, _ attempt) dibs.Command { return dibs.Restore{Entity: e} })
	http.HandleFunc("GET /u/{username}", func(w http.ResponseWriter, r *http.Request) {
		found, _ := dibshttp.FromContext(r.Context())
		fmt.Fprintf(w, `{"account": %q}`, found.Entity.ID)
	})
	http.HandleFunc("POST /witness", func(w http.ResponseWriter, r *http.Request) {
		var hold struct{ Entity dibs.Entity } // it is over, and was not confirmed: the registry asks why
		must(0, json.NewDecoder(r.Body).Decode(&hold))
		must(0, json.NewEncoder(w).Encode(map[bool]map[string]any{true: {"outcome": "exists", "entity": hold.Entity}, false: {"outcome": "absent"}}[settle(hold.Entity.ID)]))
	})
	address := cmp.Or(os.Getenv("SHOP_LISTEN"), "localhost:8000")
	fmt.Println("The shop is at http://" + address)
	log.Fatal(http.ListenAndServe(address, must(dibshttp.New(names, dibshttp.Config{Namespace: "username", Prefix: "/u/"})).Wrap(http.DefaultServeMux))) // redirects old names
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err) // in a handler: the browser gets no answer, and tries again
	}
	return value
}
