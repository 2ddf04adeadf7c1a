package shop_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/calldibs/dibs"
)

const (
	reservePath = "/v1/reservations/batch"
	confirmPath = "/v1/apply" // also of the Go client's reservations
)

// reserves reports whether a request reserves names.
func reserves(t *testing.T, r *http.Request) bool {
	t.Helper()
	return r.URL.Path == reservePath || r.URL.Path == confirmPath && strings.Contains(bodyOf(t, r), `"reserveAll"`)
}

func confirms(t *testing.T, r *http.Request) bool {
	t.Helper()
	return r.URL.Path == confirmPath && strings.Contains(bodyOf(t, r), `"confirm"`)
}

func TestSignUp(t *testing.T) {
	inEachLanguage(t, options{}, func(t *testing.T, s *shop) {
		first := s.want(s.signUp("ann", "ann"), http.StatusOK)
		s.wantOwned(first.account, "ann")
		if again := s.want(s.signUp("ann", "ann"), http.StatusOK); again.account != first.account {
			t.Errorf("the same request again is for the account %s, not %s", again.account, first.account)
		}
		if other := s.want(s.signUp("ann", "anna"), http.StatusOK); other.account != first.account {
			t.Errorf("a session has two accounts: %s and %s", other.account, first.account)
		}

		form := formOf("bob")
		form.Set("username", "Ann")
		taken := s.want(s.browse(t.Context(), "bob", http.MethodPost, "/signup", form), http.StatusConflict)
		if !slices.Equal(taken.fields, []string{"username"}) || !strings.Contains(taken.text, "ann-2") && !strings.Contains(taken.text, "ann2") {
			t.Errorf("the taken name is in %s", taken.text)
		}
		if !s.free("bob") {
			t.Error("a refused attempt holds names")
		}
		form.Set("email", "bob")
		s.want(s.browse(t.Context(), "bob", http.MethodPost, "/signup", form), http.StatusUnprocessableEntity)
		s.wantOwned(s.want(s.signUp("bob", "bob"), http.StatusOK).account, "bob")
	})
}

// The browser does not learn that an email is taken: neither alone nor beside another name.
func TestTakenEmailIsASecret(t *testing.T) {
	inEachLanguage(t, options{}, func(t *testing.T, s *shop) {
		s.want(s.signUp("ann", "ann"), http.StatusOK)
		form := formOf("bob")
		form.Set("email", formOf("ann").Get("email"))
		for username, want := range map[string]int{"bob": http.StatusAccepted, "ann": http.StatusConflict} {
			form.Set("username", username)
			got := s.want(s.browse(t.Context(), "bob", http.MethodPost, "/signup", form), want)
			if strings.Contains(got.text, "email") || strings.Contains(got.text, form.Get("email")) {
				t.Errorf("the answer tells that the email is taken: %s", got.text)
			}
			if want == http.StatusConflict && !slices.Equal(got.fields, []string{"username"}) {
				t.Errorf("the taken name is not in %s", got.text)
			}
		}
	})
}

func TestDeclinedCards(t *testing.T) {
	inEachLanguage(t, options{declines: "100"}, func(t *testing.T, s *shop) {
		for range 3 {
			s.want(s.signUp("ann", "ann"), http.StatusPaymentRequired)
			if !s.free("ann") {
				t.Error("the names are not free after the card was declined")
			}
		}
		s.kill()
		s.start("0")
		s.wantOwned(s.want(s.signUp("ann", "ann"), http.StatusOK).account, "ann")
	})
}

// The first request of each kind reaches the registry, and its answer is lost; or the request is.
func TestLostAnswers(t *testing.T) {
	inEachLanguage(t, options{}, func(t *testing.T, s *shop) {
		for i, what := range []fault{loseRequest, loseAnswer} {
			var sent sync.Mutex
			lost := map[bool]int{}
			s.proxy.spoil(func(r *http.Request) fault {
				kind := confirms(t, r)
				sent.Lock()
				defer sent.Unlock()
				if lost[kind]++; lost[kind] > 1 {
					return none
				}
				return what
			})
			name := fmt.Sprint("ann", i)
			s.wantOwned(s.want(s.signUp(name, name), http.StatusOK).account, name)
			if lost[true] < 2 || lost[false] < 2 {
				t.Errorf("the shop sent %v requests, and none was lost", lost)
			}
		}
	})
}

// A person sees an error, although the names are held, and tries again: with the same form or
// with another one.
func TestSpoiltAnswers(t *testing.T) {
	inEachLanguage(t, options{}, func(t *testing.T, s *shop) {
		spoil := func(kind func(*testing.T, *http.Request) bool) {
			s.proxy.spoil(func(r *http.Request) fault {
				if kind(t, r) {
					return spoilAnswer
				}
				return none
			})
		}
		failed := func(a answer) {
			t.Helper()
			if a.status < 500 {
				t.Fatalf("it is %d: %s", a.status, a.text)
			}
		}
		for i, kind := range []func(*testing.T, *http.Request) bool{reserves, confirms} {
			name := fmt.Sprint("ann", i)
			spoil(kind)
			failed(s.signUp(name, name))
			s.proxy.spoil(nil)
			s.wantOwned(s.want(s.signUp(name, name), http.StatusOK).account, name)
		}

		spoil(reserves)
		failed(s.signUp("bob", "bob"))
		s.proxy.spoil(nil)
		form := formOf("bob")
		form.Set("username", "bobby")
		s.wantOwned(s.want(s.browse(t.Context(), "bob", http.MethodPost, "/signup", form), http.StatusOK).account, "bob")
		if found, err := s.names.Check(t.Context(), dibs.CheckRequest{Namespace: "username", Values: []string{"bob"}}); err != nil || !found[0].Available {
			t.Errorf("the name of the first form is %+v, %v", found, err)
		}
	})
}

func TestClosedTab(t *testing.T) {
	inEachLanguage(t, options{}, func(t *testing.T, s *shop) {
		for i, kind := range []func(*testing.T, *http.Request) bool{reserves, confirms} {
			ctx, closeTab := context.WithCancel(t.Context())
			resume := make(chan struct{})
			s.proxy.spoil(func(r *http.Request) fault {
				if kind(t, r) {
					closeTab()
					<-resume
				}
				return none
			})
			name := fmt.Sprint("ann", i)
			if a := s.browse(ctx, name, http.MethodPost, "/signup", formOf(name)); a.status != 0 {
				t.Fatalf("the tab was not closed: %d %s", a.status, a.text)
			}
			close(resume)
			s.wantOwned(s.want(s.signUp(name, name), http.StatusOK).account, name) // beside what the closed tab began
		}
	})
}

// The form is sent again with other names, while the payment for the first ones is being confirmed.
func TestOtherNamesAfterThePayment(t *testing.T) {
	inEachLanguage(t, options{}, func(t *testing.T, s *shop) {
		confirming, resume := make(chan struct{}), make(chan struct{})
		var first sync.Once
		s.proxy.spoil(func(r *http.Request) fault {
			if confirms(t, r) {
				first.Do(func() {
					close(confirming)
					<-resume
				})
			}
			return none
		})
		tab := make(chan answer, 1)
		go func() { tab <- s.signUp("ann", "ann") }()
		<-confirming
		form := formOf("ann")
		form.Set("username", "zoe")
		other := make(chan answer, 1)
		go func() { other <- s.browse(t.Context(), "ann", http.MethodPost, "/signup", form) }()
		close(resume)
		account := s.want(<-tab, http.StatusOK).account
		if second := s.want(<-other, http.StatusOK).account; second != account {
			t.Errorf("there are two accounts: %s and %s", account, second)
		}
		s.wantOwned(account, "ann")
	})
}

// The shop is killed after the payment. The registry asks its witness, and confirms the names.
func TestCrashAfterThePayment(t *testing.T) {
	inEachLanguage(t, options{ttl: "3s"}, func(t *testing.T, s *shop) {
		confirming := make(chan struct{}, 100)
		s.proxy.spoil(func(r *http.Request) fault {
			if confirms(t, r) {
				confirming <- struct{}{}
				return loseRequest
			}
			return none
		})
		go func() { // gets no answer, or on a busy machine 402, because the hold was over before the payment
			for s.signUp("ann", "ann").status == http.StatusPaymentRequired {
			}
		}()
		<-confirming
		s.kill()
		s.start("0")
		s.until("the registry has confirmed the names", func() bool { return s.taken("ann") })
		s.proxy.spoil(nil)
		s.wantOwned(s.want(s.signUp("ann", "ann"), http.StatusOK).account, "ann")
	})
}

// The person never comes back, and the shop was killed before the payment.
func TestAbandoned(t *testing.T) {
	inEachLanguage(t, options{ttl: "3s"}, func(t *testing.T, s *shop) {
		killed := make(chan struct{})
		var once sync.Once
		s.proxy.spoil(func(r *http.Request) fault {
			if !reserves(t, r) {
				return none
			}
			once.Do(func() { close(killed) })
			return loseAnswer
		})
		go s.signUp("ann", "ann") // gets no answer
		<-killed
		s.until("the names are held", func() bool { return !s.free("ann") })
		s.kill()
		s.proxy.spoil(nil)
		s.start("0")
		s.until("the names are free", func() bool { return s.free("ann") })
		again := s.signUp("ann", "ann")
		for again.status == http.StatusPaymentRequired { // on a busy machine the hold was over before the payment
			again = s.signUp("ann", "ann")
		}
		s.wantOwned(s.want(again, http.StatusOK).account, "ann")
	})
}

func TestRenameArchiveRestore(t *testing.T) {
	inEachLanguage(t, options{}, func(t *testing.T, s *shop) {
		do := func(session, method, path string, form url.Values) answer {
			t.Helper()
			return s.browse(t.Context(), session, method, path, form)
		}
		account := s.want(s.signUp("ann", "ann"), http.StatusOK).account
		s.want(do("ann", http.MethodPut, "/account", url.Values{"username": {"Anna"}}), http.StatusOK)
		if page := s.want(do("", http.MethodGet, "/u/ann", nil), http.StatusMovedPermanently); page.to != "/u/anna" {
			t.Errorf("the old name leads to %q", page.to)
		}
		if page := s.want(do("", http.MethodGet, "/u/anna", nil), http.StatusOK); page.account != account {
			t.Errorf("the page is that of %q", page.account)
		}
		s.want(do("", http.MethodGet, "/u/nobody", nil), http.StatusNotFound)

		// The answer is lost, and the person tries again.
		s.proxy.spoil(func(*http.Request) fault { return spoilAnswer })
		if a := do("ann", http.MethodPut, "/account", url.Values{"username": {"annie"}}); a.status < 500 {
			t.Errorf("it is %d: %s", a.status, a.text)
		}
		s.proxy.spoil(nil)
		s.want(do("ann", http.MethodPut, "/account", url.Values{"username": {"annie"}}), http.StatusOK)
		if page := s.want(do("", http.MethodGet, "/u/ann", nil), http.StatusMovedPermanently); page.to != "/u/annie" {
			t.Errorf("the old name leads to %q", page.to)
		}

		s.want(do("ann", http.MethodDelete, "/account", nil), http.StatusOK)
		s.want(do("", http.MethodGet, "/u/annie", nil), http.StatusGone)
		s.want(do("", http.MethodGet, "/u/ann", nil), http.StatusGone)
		s.want(s.signUp("bob", "annie"), http.StatusConflict)
		s.want(do("ann", http.MethodPost, "/account/restore", nil), http.StatusOK)
		s.want(do("", http.MethodGet, "/u/annie", nil), http.StatusOK)
		if a := do("stranger", http.MethodDelete, "/account", nil); a.status < 400 || a.status >= 500 {
			t.Errorf("a session without an account archives: %d %s", a.status, a.text)
		}
		if a := do(account, http.MethodDelete, "/account", nil); a.status < 400 || a.status >= 500 {
			t.Errorf("the id of an account, which is public, is a session: %d %s", a.status, a.text)
		}
	})
}

// A session that never paid has no account, whatever its attempts to sign up left behind.
func TestUnpaid(t *testing.T) {
	inEachLanguage(t, options{}, func(t *testing.T, s *shop) {
		refused := func(session string) {
			t.Helper()
			for _, request := range [][2]string{{http.MethodPut, "/account"}, {http.MethodDelete, "/account"}, {http.MethodPost, "/account/restore"}} {
				a := s.want(s.browse(t.Context(), session, request[0], request[1], url.Values{"username": {"zoe"}}), http.StatusUnauthorized)
				if !strings.Contains(a.text, "sign up first") {
					t.Errorf("it says %s", a.text)
				}
			}
			if !s.free("zoe") {
				t.Fatal("a session that never paid has a name")
			}
		}
		s.want(s.signUp("ann", "ann"), http.StatusOK)
		refused("stranger")
		s.want(s.signUp("taken", "ann"), http.StatusConflict)
		refused("taken")
		s.want(s.signUp("invalid", "no one"), http.StatusUnprocessableEntity)
		refused("invalid")
		s.proxy.spoil(func(r *http.Request) fault {
			if reserves(t, r) {
				return spoilAnswer
			}
			return none
		})
		if a := s.signUp("lost", "bob"); a.status < 500 {
			t.Errorf("it is %d: %s", a.status, a.text)
		}
		s.proxy.spoil(nil)
		refused("lost")
		s.kill()
		s.start("100")
		s.want(s.signUp("declined", "cid"), http.StatusPaymentRequired)
		refused("declined")
	})
}

func TestBadRequests(t *testing.T) {
	inEachLanguage(t, options{}, func(t *testing.T, s *shop) {
		form := formOf("ann")
		form.Del("tenant")
		for range 2 {
			missing := s.want(s.browse(t.Context(), "ann", http.MethodPost, "/signup", form), http.StatusUnprocessableEntity)
			if !slices.Equal(missing.fields, []string{"tenant"}) {
				t.Errorf("the missing field is in %s", missing.text)
			}
		}
		s.want(s.signUp("ann", "ann"), http.StatusOK)
		s.want(s.browse(t.Context(), "ann", http.MethodPut, "/account", nil), http.StatusUnprocessableEntity)
		s.want(s.browse(t.Context(), "ann", http.MethodGet, "/", nil), http.StatusNotFound)

		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.address+"/signup", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultTransport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		text, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusBadRequest || !strings.Contains(string(text), "the cookie session is missing") {
			t.Errorf("without a cookie it is %d: %s, %v", response.StatusCode, text, err)
		}
		if kind := response.Header.Get("Content-Type"); kind != "application/json" {
			t.Errorf("the type of the answer is %s", kind)
		}
	})
}

// Many people want the same names, cards are declined and answers are lost at random, and all of
// them try until they have an account or the names are taken.
func TestManyPeople(t *testing.T) {
	inEachLanguage(t, options{declines: "30"}, func(t *testing.T, s *shop) {
		s.proxy.spoil(func(*http.Request) fault {
			switch n := rand.IntN(10); n {
			case 0:
				return loseRequest
			case 1:
				return loseAnswer
			case 2:
				return spoilAnswer
			default:
				return none
			}
		})
		const people, names = 12, 4
		accounts := make([]string, people)
		var all sync.WaitGroup
		for i := range people {
			all.Go(func() {
				session, name := fmt.Sprint("person", i), fmt.Sprint("name", i%names)
				for range 200 {
					a := s.signUp(session, name)
					if a.status == http.StatusOK {
						accounts[i] = a.account
						return
					}
					if a.status == http.StatusConflict && strings.Contains(a.text, `"in_use"`) {
						return // the name belongs to another person
					}
				}
				t.Errorf("%s never got an answer", session)
			})
		}
		all.Wait()
		owners := map[string]int{}
		for i, account := range accounts {
			if account == "" {
				continue
			}
			name := fmt.Sprint("name", i%names)
			s.wantOwned(account, name)
			owners[name]++
		}
		for i := range names {
			if name := fmt.Sprint("name", i); owners[name] != 1 {
				t.Errorf("%s has %d owners", name, owners[name])
			}
		}
		held, err := s.names.List(t.Context(), dibs.NamesQuery{State: dibs.Held})
		if err != nil || len(held.Names) > 0 {
			t.Errorf("these names are still held: %+v, %v", held.Names, err)
		}
	})
}

// A newcomer reads each of them in three minutes.
func TestShopsAreShort(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"go/main.go", "typescript/shop.ts", "python/shop.py"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), "\n"); n > 160 {
			t.Errorf("%s has %d lines", path, n)
		}
	}
}
