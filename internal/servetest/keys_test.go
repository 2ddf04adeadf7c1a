package servetest_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

var (
	offeredKey = regexp.MustCompile(`(?m)^ +dibs (keys create .*)$`)
	secretLine = regexp.MustCompile(`(?m)^dibs_\S+$`)
)

// TestKeysOnOtherMachines tests a server that other machines can reach: it requires a key
// before it starts, from all callers, and also after its last key is revoked.
func TestKeysOnOtherMachines(t *testing.T) {
	t.Parallel()
	notRaced(t)
	dir := t.TempDir()
	refused := finish(t, dir, "serve", "--listen", "0.0.0.0:0")
	offer := offeredKey.FindStringSubmatch(refused.stderr.String())
	if refused.wait(t) != 2 || offer == nil {
		t.Fatalf("%v: %s", refused.cmd.ProcessState, refused.stderr.String())
	}
	created := finish(t, dir, shellWords(offer[1])...) // exactly as offered
	secret := secretLine.FindString(created.stdout.String())
	if secret == "" {
		t.Fatalf("%s%s", created.stdout.String(), created.stderr.String())
	}
	p := listen(t, start(t, dir, nil, "serve", "--listen", "0.0.0.0:0"))
	await(t, "a command is offered", func() bool { return strings.Contains(p.stdout.String(), "/docs/") })
	if command := pasted.FindString(p.stdout.String()); !strings.Contains(command, "Bearer $DIBS_KEY") {
		t.Errorf("the offered command has no key: %s", command)
	}
	with := func(headers ...string) int { return get(t, p.url+"/v1/names", headers...).status }
	if got := with(); got != http.StatusUnauthorized {
		t.Errorf("without a key: %d", got)
	}
	if got := with("Authorization", "Bearer "+secret+"x"); got != http.StatusUnauthorized {
		t.Errorf("with another key: %d", got)
	}
	if got := with("Authorization", "Bearer "+secret); got != http.StatusOK {
		t.Errorf("with the key: %d", got)
	}
	if got := get(t, p.url+"/healthz").status; got != http.StatusOK {
		t.Errorf("health without a key: %d", got)
	}

	if kept := finish(t, dir, "keys", "revoke", "admin", "--store", "sqlite:dibs.db"); kept.wait(t) != 2 {
		t.Fatal("the last key was revoked without --open: ", kept.stderr.String())
	}
	if revoked := finish(t, dir, "keys", "revoke", "admin", "--open", "--store", "sqlite:dibs.db"); revoked.wait(t) != 0 {
		t.Fatal(revoked.stderr.String())
	}
	begin, worked := time.Now(), time.Duration(0) // for requests that began so long after the revocation
	await(t, "the key ends", func() bool {
		sent := time.Since(begin)
		if with("Authorization", "Bearer "+secret) == http.StatusUnauthorized {
			return true
		}
		worked = sent
		return false
	})
	if worked > 5*time.Second {
		t.Errorf("the key worked for %v after it was revoked", worked)
	}
	if got := with(); got != http.StatusUnauthorized {
		t.Errorf("no key is left, but a request without a key gets %d", got)
	}
	if log := p.stderr.String() + p.stdout.String(); strings.Contains(log, secret) {
		t.Error("the secret is in the log")
	}
}

// TestKeyOnThisMachine tests a server on localhost, which requires no key until one exists.
func TestKeyOnThisMachine(t *testing.T) {
	t.Parallel()
	notRaced(t)
	dir := t.TempDir()
	p := serve(t, dir)
	if got := get(t, p.url+"/v1/names").status; got != http.StatusOK {
		t.Errorf("without any key: %d", got)
	}
	created := finish(t, dir, "keys", "create", "reader", "--may", "read", "--in", "slug", "--store", "sqlite:dibs.db")
	secret := secretLine.FindString(created.stdout.String())
	await(t, "a key is wanted", func() bool { return get(t, p.url+"/v1/names").status == http.StatusUnauthorized })
	bearer := "Bearer " + secret
	if got := get(t, p.url+"/v1/check/slug/alice", "Authorization", bearer).status; got != http.StatusOK {
		t.Errorf("an allowed request: %d", got)
	}
	a, err := ask(newClient(t, 1), http.MethodPost, p.url+"/v1/reservations", reservation("alice", "1"), "Authorization", bearer)
	if err != nil || a.status != http.StatusForbidden {
		t.Errorf("a forbidden request: %d, %v", a.status, err)
	}
}

// TestChangingAKey follows docs/access.md: a hold belongs to the name of its key. So a second secret
// that the file declares under this name, and a key that is made again after it was revoked, both
// confirm what the first one reserved. A key of another name does not.
func TestChangingAKey(t *testing.T) {
	t.Parallel()
	notRaced(t)
	dir := t.TempDir()
	writeFile(t, dir, "dibs.toml", "")
	keys := func(args ...string) (secret, out string) {
		t.Helper()
		done := finish(t, dir, append([]string{"keys"}, args...)...)
		if done.wait(t) != 0 {
			t.Fatal(done.stderr.String())
		}
		return secretLine.FindString(done.stdout.String()), done.stdout.String()
	}
	create := func(name string) string {
		secret, _ := keys("create", name, "--may", "hold,read", "--in", "slug", "--store", "sqlite:dibs.db")
		return secret
	}
	revoke := func(name string) { keys("revoke", name, "--yes", "--store", "sqlite:dibs.db") }
	first, other := create("checkout"), create("other")
	p := serve(t, dir, "--config", "dibs.toml")
	post := func(secret, path, body string) (status int, reservationID string) {
		t.Helper()
		a, err := ask(newClient(t, 1), http.MethodPost, p.url+"/v1/reservations"+path, body, "Authorization", "Bearer "+secret)
		if err != nil {
			t.Fatal(err)
		}
		var made struct {
			ReservationID string `json:"reservationId"`
		}
		_ = json.Unmarshal(a.body, &made)
		return a.status, made.ReservationID
	}
	const token = `"token": "a-random-secret-of-mine"`
	hold := func(value string) (id string) {
		t.Helper()
		status, id := post(first, "", `{"namespace": "slug", "value": "`+value+`", `+token+`}`)
		if status != http.StatusCreated {
			t.Fatal(status)
		}
		return id
	}
	confirm := func(secret, id string) int {
		status, _ := post(secret, "/"+id+"/confirm", `{`+token+`, "entity": {"type": "wedding", "id": "`+id+`"}}`)
		return status
	}
	works := func(secret string) bool {
		return get(t, p.url+"/v1/check/slug/x", "Authorization", "Bearer "+secret).status == http.StatusOK
	}
	alice, bob := hold("alice"), hold("bob")
	if got := confirm(other, alice); got != http.StatusConflict {
		t.Errorf("a key of another name confirms: %d", got)
	}

	declared, shown := keys("generate")
	_, table, _ := strings.Cut(shown, "[[keys]]")
	writeFile(t, dir, "dibs.toml", "[[keys]]"+table)
	p.signal(t, syscall.SIGHUP)
	await(t, "both secrets work", func() bool { return works(declared) && works(first) })
	if got := confirm(declared, alice); got != http.StatusOK {
		t.Errorf("the declared secret confirms: %d", got)
	}

	revoke("checkout")
	await(t, "the stored secret ends", func() bool { return !works(first) })
	if !works(declared) {
		t.Error("the declared secret ended with the stored one")
	}
	writeFile(t, dir, "dibs.toml", "")
	p.signal(t, syscall.SIGHUP)
	await(t, "the declared secret ends", func() bool { return !works(declared) })
	again := create("checkout")
	await(t, "the new key works", func() bool { return works(again) })
	if got := confirm(again, bob); got != http.StatusOK {
		t.Errorf("the key that was made again confirms: %d", got)
	}
}
