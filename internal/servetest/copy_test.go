package servetest_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"
)

// A registry moves to another file under load, while the copier is killed in each of its steps.
// Nothing that a server acknowledged is missing there.
func TestCopyUnderLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from, to := "sqlite:"+dir+"/old.db", "sqlite:"+dir+"/new.db"
	servers := []*process{serve(t, dir, "--store", from), serve(t, dir, "--store", from)}
	var load []*writers
	for i, server := range servers {
		load = append(load, startWriters(t, server.url, []string{"first", "second"}[i], 2))
	}
	for _, l := range load {
		awaitLoad(t, func() bool { return l.answered.Load() > 50 })
	}
	copying := []string{"copy", "--from", from, "--to", to, "--place", "https://names.example.com", "--yes", "--json"}
	for _, step := range []string{"copying", "documents", "fencing", "draining", "comparing"} {
		p := start(t, dir, nil, copying...)
		await(t, "the copier is "+step, func() bool {
			select {
			case <-p.ended:
				return true
			default:
				return strings.Contains(p.stdout.String(), `"event":"`+step+`"`)
			}
		})
		p.kill(t)
		if step == "copying" {
			if p := finish(t, dir, "serve", "--store", to); p.wait(t) == 0 || !strings.Contains(p.stderr.String(), "unfinished copy") {
				t.Errorf("a server uses half of a copy: %s", p.stderr.String())
			}
		}
	}
	last := finish(t, dir, copying...)
	if last.wait(t) != 0 || !strings.Contains(last.stdout.String(), `"event":"done"`) {
		t.Fatalf("%s%s", last.stdout.String(), last.stderr.String())
	}
	t.Log(last.stdout.String())

	const moved = "this registry has moved to https://names.example.com"
	for _, server := range servers {
		await(t, "the server says that the registry has moved", func() bool {
			a, err := ask(newClient(t, 1), http.MethodGet, server.url+"/readyz", "")
			return err == nil && a.status == http.StatusServiceUnavailable && strings.Contains(string(a.body), moved)
		})
		if n := strings.Count(server.stderr.String(), "level=ERROR"); n != 1 {
			t.Errorf("the server has logged %d errors, want 1", n)
		}
	}
	acked := make(map[string]string)
	for _, l := range load {
		l.stop()
		maps.Copy(acked, l.acked)
		for _, failure := range l.failures {
			if !strings.HasPrefix(failure, "503 ") || !strings.Contains(failure, moved) {
				t.Errorf("a caller got %s", failure)
				break
			}
		}
	}
	mustHave(t, serve(t, dir, "--store", to).url, acked)
	late := serve(t, dir, "--store", from)
	await(t, "a server on the old store says where the new one is", func() bool { return strings.Contains(late.stderr.String(), "store="+to) })
	if strings.Contains(late.stdout.String(), "Hold a name") {
		t.Errorf("a server that refuses all changes asks for one: %s", late.stdout.String())
	}
	if p := finish(t, dir, append(copying, "--abandon")...); p.wait(t) != 2 {
		t.Errorf("a finished copy was given up: %s", p.stdout.String())
	}
}
