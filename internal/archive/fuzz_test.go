package archive_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"regexp"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/embedded"
	"github.com/calldibs/dibs/internal/archive"
	"github.com/calldibs/dibs/internal/snapshot"
	"github.com/calldibs/dibs/memstore"
)

// sampleArchive is an archive of a small registry.
func sampleArchive(f *testing.F) []byte {
	f.Helper()
	store := memstore.New(memstore.Config{})
	registry, err := embedded.Open(store, dibs.Config{})
	if err != nil {
		f.Fatal(err)
	}
	defer registry.Close()
	user := dibs.Entity{Type: "user", ID: "1"}
	for _, command := range []dibs.Command{
		dibs.Reserve{Namespace: "slug", Value: "held", CorrelationID: "c", Meta: map[string]string{"k": "v"}},
		dibs.Claim{Namespace: "acme.slug", Value: "alice", Entity: user},
		dibs.Rename{Namespace: "acme.slug", Value: "alice-b", Entity: user},
		dibs.Archive{Scope: "acme", Entity: user},
	} {
		if _, err := registry.Apply(f.Context(), command); err != nil {
			f.Fatal(err)
		}
	}
	view, err := snapshot.Take(f.Context(), store)
	if err != nil {
		f.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := archive.Dump(f.Context(), view, &b, nil); err != nil {
		f.Fatal(err)
	}
	return b.Bytes()
}

var sumInLastLine = regexp.MustCompile(`"sha256":"[0-9a-f]*"`)

// resealed returns an archive whose last line has the sum of the lines before it, so that a changed
// line is not noticed by the sum.
func resealed(data []byte) []byte {
	at := bytes.LastIndex(bytes.TrimSuffix(data, []byte("\n")), []byte("\n")) + 1
	sum := sha256.Sum256(data[:at])
	last := sumInLastLine.ReplaceAll(data[at:], []byte(`"sha256":"`+hex.EncodeToString(sum[:])+`"`))
	return append(bytes.Clone(data[:at]), last...)
}

// Whatever a file contains, loading it succeeds or fails with an error, and what was loaded can be
// dumped and loaded again.
func FuzzLoad(f *testing.F) {
	whole := sampleArchive(f)
	if err := load(f.Context(), resealed(whole), memstore.New(memstore.Config{}), archive.Options{}); err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add(bytes.ReplaceAll(whole, []byte(`"rev":1`), []byte(`"rev":0`)))
	f.Add(bytes.ReplaceAll(whole, []byte(`"held"`), []byte(`"taken"`)))
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := archive.Check(t.Context(), bytes.NewReader(data)); err != nil && !errors.Is(err, archive.ErrArchive) {
			t.Errorf("Check: %v", err)
		}
		store := memstore.New(memstore.Config{})
		if load(t.Context(), resealed(data), store, archive.Options{}) != nil {
			return
		}
		if err := load(t.Context(), dump(t, store), memstore.New(memstore.Config{}), archive.Options{}); err != nil {
			t.Errorf("what was loaded cannot be dumped and loaded again: %v", err)
		}
	})
}
