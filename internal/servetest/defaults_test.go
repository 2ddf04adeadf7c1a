package servetest_test

import (
	"net/http"
	"strings"
	"syscall"
	"testing"
)

// A server on a store from before the defaults had checks starts, keeps its names and the rules of
// its namespaces, and says how to switch the checks on. Doing that helps.
func TestUpgradedStoreKeepsItsRules(t *testing.T) {
	t.Parallel()
	notRaced(t)
	dir := t.TempDir()
	claim := func(p *process, value string, want int) {
		t.Helper()
		body := `{"namespace": "username", "value": "` + value + `", "entity": {"type": "user", "id": "` + value + `"}}`
		a, err := ask(newClient(t, 1), http.MethodPost, p.url+"/v1/claims", body)
		if err != nil || a.status != want {
			t.Errorf("%s: %d %s, %v, want %d", value, a.status, a.body, err, want)
		}
	}
	old := serve(t, dir, "--allow-reserved", "--allow-mixed-scripts", "--allow-look-alikes=true")
	claim(old, "admin", http.StatusCreated)
	claim(old, "modem", http.StatusCreated)
	claim(old, "modern", http.StatusCreated)
	old.signal(t, syscall.SIGTERM)
	old.wait(t)

	p := serve(t, dir)
	if log := p.stderr.String(); !strings.Contains(log, "docs/names.md#safe-by-default") || !strings.Contains(log, "namespaces=username") {
		t.Errorf("the log does not say what to do: %s", log)
	}
	if a := get(t, p.url+"/v1/resolve/username/admin"); a.status != http.StatusOK {
		t.Errorf("a name from before: %d %s", a.status, a.body)
	}
	claim(p, "root", http.StatusUnprocessableEntity)
	claim(p, "Еve", http.StatusCreated) // with a Cyrillic letter
	claimed := finish(t, dir, "claim", "username", "Еva", "--entity", "user/eva", "--store", "sqlite:dibs.db")
	if claimed.wait(t) != 0 {
		t.Errorf("a command has other rules: %s", claimed.stderr.String())
	}

	change := func() *process {
		return finish(t, dir, "recanonicalize", "username", "--yes", "--store", "sqlite:dibs.db")
	}
	if stopped := change(); stopped.wait(t) == 0 {
		t.Errorf("mixed names did not stop it: %s", stopped.stdout.String())
	}
	for value, id := range map[string]string{"Еve": "Еve", "Еva": "eva"} {
		a, err := ask(newClient(t, 1), http.MethodPost, p.url+"/v1/names/username/"+value+"/decommission", `{"entity": {"type": "user", "id": "`+id+`"}}`)
		if err != nil || a.status != http.StatusOK {
			t.Fatalf("%d %s, %v", a.status, a.body, err)
		}
	}
	if changed := change(); changed.wait(t) != 0 {
		t.Fatal(changed.stderr.String())
	}
	p.signal(t, syscall.SIGHUP)
	await(t, "the policies are reloaded", func() bool { return strings.Contains(p.stderr.String(), "policies reloaded") })
	claim(p, "Еve", http.StatusUnprocessableEntity)
	claim(p, "m0dern", http.StatusConflict)
	claim(p, "eve", http.StatusCreated)
}

// Keys of the configuration sign in, are read again on SIGHUP, and are not revoked over the API; and
// so it is with webhooks.
func TestDeclaredKeys(t *testing.T) {
	t.Parallel()
	notRaced(t)
	dir := t.TempDir()
	generate := func() (secret, hash string) {
		t.Helper()
		made := finish(t, dir, "keys", "generate")
		made.wait(t)
		_, rest, _ := strings.Cut(made.stdout.String(), `hash = "`)
		hash, _, _ = strings.Cut(rest, `"`)
		return secretLine.FindString(made.stdout.String()), hash
	}
	admin, hash := generate()
	reader, _ := generate()
	writeFile(t, dir, "reader", reader+"\n")
	const declared = "[[keys]]\nname = \"admin\"\nhash = \"%\"\ngrants = [{ may = \"all\", in = \"*\" }]\n"
	const further = "[[keys]]\nname = \"reader\"\nsecretFile = \"reader\"\ngrants = [{ may = \"read\", in = \"*\" }]\n"
	const target = "[[webhooks.targets]]\nname = \"shop\"\nurl = \"https://shop.example.com/\"\nsecretFile = \"hook\"\nenabled = false\n"
	writeFile(t, dir, "hook", "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=\n")
	writeFile(t, dir, "dibs.toml", strings.Replace(declared, "%", hash, 1)+further+target)
	p := serve(t, dir, "--config", "dibs.toml")
	status := func(secret string) int {
		return get(t, p.url+"/v1/check/slug/alice", "Authorization", "Bearer "+secret).status
	}
	if status(admin) != http.StatusOK || status(reader) != http.StatusOK || get(t, p.url+"/v1/names").status != http.StatusUnauthorized {
		t.Errorf("admin %d, reader %d", status(admin), status(reader))
	}
	keys := func(args ...string) *process {
		done := finish(t, dir, append([]string{"keys", "--server", p.url, "--key", admin}, args...)...)
		done.wait(t)
		return done
	}
	if list := keys("list").stdout.String(); !strings.Contains(list, "dibs.toml:1") || !strings.Contains(list, "dibs.toml:5") {
		t.Errorf("the list does not say where they are declared:\n%s", list)
	}
	if refused := keys("revoke", "reader"); !strings.Contains(refused.stderr.String(), "dibs.toml:5") {
		t.Errorf("revoking a declared key: %s", refused.stderr.String())
	}
	if made := keys("create", "shop", "--may", "read", "--in", "slug"); secretLine.FindString(made.stdout.String()) == "" {
		t.Errorf("no key was made: %s", made.stderr.String())
	}

	hook := func() string {
		return string(get(t, p.url+"/v1/webhooks/wh_shop", "Authorization", "Bearer "+admin).body)
	}
	if !strings.Contains(hook(), `"declaredIn":"dibs.toml:9"`) {
		t.Errorf("the webhook is %s", hook())
	}
	a, err := ask(newClient(t, 1), http.MethodDelete, p.url+"/v1/webhooks/wh_shop", "", "Authorization", "Bearer "+admin)
	if err != nil || a.status != http.StatusForbidden || !strings.Contains(string(a.body), "WEBHOOK_DECLARED") {
		t.Errorf("removing a declared webhook: %d %s, %v", a.status, a.body, err)
	}

	// A mistake changes nothing, and a key that is gone ends.
	writeFile(t, dir, "dibs.toml", strings.Replace(declared, "%", "sha256:12", 1))
	p.signal(t, syscall.SIGHUP)
	await(t, "the reload fails", func() bool { return strings.Contains(p.stderr.String(), "keys[0].hash[0]") })
	if status(reader) != http.StatusOK {
		t.Error("a failed reload ended a key")
	}
	writeFile(t, dir, "dibs.toml", strings.Replace(declared, "%", hash, 1))
	p.signal(t, syscall.SIGHUP)
	await(t, "the key ends", func() bool { return status(reader) == http.StatusUnauthorized })
	await(t, "the webhook stops", func() bool { return strings.Contains(hook(), "no longer declares it") })
	if status(admin) != http.StatusOK {
		t.Error("a reload ended a key that is still declared")
	}
	if strings.Contains(p.stderr.String(), admin) || strings.Contains(p.stderr.String(), reader) {
		t.Error("the log has a secret")
	}
}
