package servetest_test

import (
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
)

// TestReload changes the policies of a server under load.
func TestReload(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(text string) { writeFile(t, dir, "dibs.toml", text) }
	reserve := func(word string) string {
		return fmt.Sprintf("[policies.slug]\nreservedWords = { words = [%q] }\n", word)
	}
	write(reserve("first"))
	p := serve(t, dir, "--config", "dibs.toml")
	load := startWriters(t, p.url, "load", 8)
	isReserved := func(word string) bool {
		a := get(t, p.url+"/v1/check/slug/"+word)
		if a.status != http.StatusOK {
			t.Fatalf("%d %s", a.status, a.body)
		}
		return strings.Contains(string(a.body), "reserved_word")
	}
	const rounds = 4
	last := fmt.Sprintf("word-%d", rounds-1)
	if !isReserved("first") {
		t.Fatal("the file is not read")
	}
	for i := range rounds {
		word := fmt.Sprintf("word-%d", i)
		write(reserve(word))
		p.signal(t, syscall.SIGHUP)
		await(t, word+" is reserved", func() bool { return isReserved(word) })
		answered := load.answered.Load()
		await(t, "the load goes on", func() bool { return load.answered.Load() > answered+30 })
	}

	write("[policies.slug]\nminTTL = \"1s\"\nmaxTTL = 7\n")
	p.signal(t, syscall.SIGHUP)
	await(t, "the log says where the file is broken", func() bool { return strings.Contains(p.stderr.String(), "dibs.toml:3: policies.slug.maxTTL") })
	if !isReserved(last) {
		t.Error("a broken file had an effect")
	}
	removeFile(t, dir, "dibs.toml")
	p.signal(t, syscall.SIGHUP)
	await(t, "the log says that there is no file", func() bool { return strings.Contains(p.stderr.String(), "dibs.toml: cannot be read") })
	if !isReserved(last) {
		t.Error("a missing file had an effect")
	}
	write(reserve("last"))
	p.signal(t, syscall.SIGHUP)
	await(t, "the file is read again", func() bool { return isReserved("last") && !isReserved(last) })

	load.stop()
	load.mustNotFail(t)
	t.Logf("%d requests meanwhile", load.answered.Load())
}

// TestOtherRulesAreRefused changes the rules of a policy that has names. A reload and a
// start both refuse it and print what to do, while the running server still works. Doing
// what they print helps.
func TestOtherRulesAreRefused(t *testing.T) {
	t.Parallel()
	notRaced(t)
	dir := t.TempDir()
	write := func(text string) { writeFile(t, dir, "dibs.toml", text) }
	const before, after = "[policies.username]\noneScript = false\nconfusables = false\n", "[policies.username]\noneScript = true\nconfusables = false\n"
	write(before)
	p := serve(t, dir, "--config", "dibs.toml")
	names := 0
	claim := func(namespace string) {
		t.Helper()
		names++
		hold(t, p, namespace, fmt.Sprint("name", names))
	}
	namespaces := []string{"username", "acme.username"} // one policy is for both
	for _, namespace := range namespaces {
		claim(namespace)
	}

	write(after + "[policies.slug]\nreservedWords = { words = [\"promo\"] }\n")
	p.signal(t, syscall.SIGHUP)
	await(t, "the reload is refused", func() bool { return strings.Contains(p.stderr.String(), "level=ERROR") })
	log := p.stderr.String()
	for _, want := range []string{"the previous policies stay in force", "dibs recanonicalize acme.username", "username has username/1 on record", "onescript"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log does not say %q:\n%s", want, log)
		}
	}
	for _, namespace := range namespaces {
		claim(namespace)
	}
	if a := get(t, p.url+"/v1/check/slug/promo"); a.status != http.StatusOK || strings.Contains(string(a.body), "reserved_word") {
		t.Errorf("a refused configuration had an effect: %s", a.body)
	}
	second := finish(t, dir, "serve", "--listen", "127.0.0.1:0", "--config", "dibs.toml")
	if second.wait(t) == 0 || !strings.Contains(second.stderr.String(), "dibs recanonicalize acme.username") {
		t.Errorf("a second server was started with it: %s", second.stderr.String())
	}

	for _, namespace := range namespaces {
		changed := finish(t, dir, "recanonicalize", namespace, "--yes", "--store", "sqlite:dibs.db", "--config", "dibs.toml")
		if changed.wait(t) != 0 {
			t.Fatal(changed.stderr.String())
		}
	}
	p.signal(t, syscall.SIGHUP)
	await(t, "the policies are reloaded", func() bool { return strings.Contains(p.stderr.String(), "policies reloaded") })
	for _, namespace := range append(namespaces, "globex.username") {
		claim(namespace)
	}
	serve(t, dir, "--config", "dibs.toml")
}
