package servetest_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
)

// smallDisk returns a folder on a disk of this size, which is unmounted with the test.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size)
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		t.Skip("only root may mount a small disk")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill uses all free space of a disk, by a file "ballast".
func fill(t *testing.T, disk string) {
	t.Helper()
	file, err := os.Create(disk + "/ballast")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	for {
		if _, err := file.Write(make([]byte, 1<<12)); errors.Is(err, syscall.ENOSPC) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	notRaced(t)
	disk := smallDisk(t, "16m")
	outage{
		cause: "disk full",
		begin: func() { fill(t, disk) },
		end:   func() { removeFile(t, disk, "ballast") },
	}.mustSurvive(t, serve(t, t.TempDir(), "--store", "sqlite:"+disk+"/names.db"))
}

// TestFullDiskOfOneStore fills the disk of one of two stores. The other store still works,
// so the server stays ready, and reports which store does not.
func TestFullDiskOfOneStore(t *testing.T) {
	t.Parallel()
	notRaced(t)
	disk, dir := smallDisk(t, "16m"), t.TempDir()
	config := fmt.Sprintf("store = \"sqlite:rest.db\"\n[[routes]]\nname = \"acme\"\nscopes = [\"acme.*\"]\nstore = \"sqlite:%s/acme.db\"\n", disk)
	writeFile(t, dir, "dibs.toml", config)
	p := serve(t, dir, "--config", "dibs.toml")
	held := hold(t, p, "acme.slug", "before")
	fill(t, disk)
	names := 0
	await(t, "callers of one store are refused", func() bool {
		names++
		a := post(t, p.url+"/v1/reservations", fmt.Sprintf(`{"namespace": "acme.slug", "value": "name-%d"}`, names))
		return refusedBecause(t, a, "disk full")
	})
	hold(t, p, "slug", "alice")
	if a := get(t, p.url+"/v1/reservations/"+held.ReservationID); a.status != http.StatusOK {
		t.Errorf("%d %s", a.status, a.body)
	}
	a := get(t, p.url+"/readyz")
	if want := `{"status":"ready","stores":[{"store":"acme","reads":true,"writes":false,"cause":"disk full"}]}`; a.status != http.StatusOK || strings.TrimSpace(string(a.body)) != want {
		t.Errorf("/readyz is %d %s, want %s", a.status, a.body, want)
	}
	metrics := string(get(t, p.url+"/metrics").body)
	for _, want := range []string{`dibs_store_writable{store="acme"} 0`, `dibs_store_writable{store="default"} 1`, `dibs_store_up{store="acme"} 1`} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	if !strings.Contains(p.stderr.String(), "store=acme cause=\"disk full\"") {
		t.Error("the log does not name the store")
	}
}

// Commands say that the disk of the store is full: not that it is broken, and not that it is another
// disk.
func TestCommandsOnAFullDisk(t *testing.T) {
	t.Parallel()
	disk, dir := smallDisk(t, "16m"), t.TempDir()
	store := "sqlite:" + disk + "/names.db"
	p := serve(t, dir, "--store", store)
	hold(t, p, "slug", "before")
	fill(t, disk)
	full := func(args ...string) {
		t.Helper()
		c := finish(t, dir, args...)
		said := c.stdout.String() + c.stderr.String()
		if c.wait(t) == 0 {
			return // it did without writing
		}
		if strings.Contains(said, "I/O") || !strings.Contains(said, "disk is full") && !strings.Contains(said, "disk of the store is full") {
			t.Errorf("%v on a full disk: %s", args, said)
		}
	}
	full("backup", dir+"/copy.db", "--store", store)
	full("list", "--store", store)
	removeFile(t, disk, "ballast")
	p.signal(t, syscall.SIGTERM) // then the next process needs a new file of shared memory
	p.wait(t)
	fill(t, disk)
	for _, args := range [][]string{{"backup", dir + "/copy-2.db"}, {"list"}, {"verify"}, {"dump", dir + "/names.dump"}, {"export", dir + "/names.csv"}} {
		full(append(args, "--store", store)...)
	}
	if c := finish(t, dir, "serve", "--listen", "127.0.0.1:0", "--store", store); c.wait(t) == 0 || !strings.Contains(c.stderr.String(), "disk is full") {
		t.Errorf("a server starts on a full disk, or says: %s", c.stderr.String())
	}
}
