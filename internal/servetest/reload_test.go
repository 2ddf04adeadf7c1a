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
	write := func(text string) {
		t.Helper()
		writeFile(t, dir, "dibs.toml", text)
	}
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
	if !isReserved("first") {
		t.Fatal("the file is not read")
	}
	for i := range 10 {
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
	if !isReserved("word-9") {
		t.Error("a broken file had an effect")
	}
	removeFile(t, dir, "dibs.toml")
	p.signal(t, syscall.SIGHUP)
	await(t, "the log says that there is no file", func() bool { return strings.Contains(p.stderr.String(), "dibs.toml: cannot be read") })
	if !isReserved("word-9") {
		t.Error("a missing file had an effect")
	}
	write(reserve("last"))
	p.signal(t, syscall.SIGHUP)
	await(t, "the file is read again", func() bool { return isReserved("last") && !isReserved("word-9") })

	load.stop()
	load.mustNotFail(t)
	t.Logf("%d requests meanwhile", load.answered.Load())
}
