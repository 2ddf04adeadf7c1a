package servetest_test

import (
	"net/http"
	"regexp"
	"strings"
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
	begin := time.Now()
	await(t, "the key ends", func() bool { return with("Authorization", "Bearer "+secret) == http.StatusUnauthorized })
	if took := time.Since(begin); took > 5*time.Second+3*time.Second { // five seconds are promised, the rest is for a busy machine
		t.Errorf("the key worked for %v after it was revoked", took)
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
