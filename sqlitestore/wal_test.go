package sqlitestore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/calldibs/dibs"
)

const loggedNames = 5

func loggedName(i int) *dibs.NameRecord { return heldName(fmt.Sprint("logged-", i)) }

// logged is a file with some commits of which the last ones are in the WAL.
type logged struct {
	file, wal []byte
	ends      []int // of the transactions in the WAL
}

func newLogged(t *testing.T) (l logged) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "names.db")
	if err := openTest(t, path, Config{}).Close(); err != nil { // with an empty WAL
		t.Fatal(err)
	}
	s := openTest(t, path, Config{})
	for i := range loggedNames {
		mustCommit(t, s, insertGroup(loggedName(i)))
	}
	var err error
	if l.file, err = os.ReadFile(path); err == nil {
		l.wal, err = os.ReadFile(path + "-wal")
	}
	if err != nil {
		t.Fatal(err)
	}
	const frameSize = frameHeader + 2048
	salt := l.wal[walSaltAt : walSaltAt+8]
	for at := walHeader; at < len(l.wal) && bytes.Equal(l.wal[at+frameSaltAt:][:8], salt); at += frameSize {
		if binary.BigEndian.Uint32(l.wal[at+framePagesAt:]) != 0 {
			l.ends = append(l.ends, at+frameSize)
		}
	}
	if len(l.ends) != loggedNames {
		t.Fatalf("%d transactions in a WAL of %d bytes", len(l.ends), len(l.wal))
	}
	return l
}

// lastBegins is where the last transaction begins, the damage of which looks like a crash.
func (l logged) lastBegins() int { return l.ends[len(l.ends)-2] }

// put writes the file with another WAL.
func (l logged) put(t *testing.T, wal []byte) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "names.db")
	if err := errors.Join(os.WriteFile(path, l.file, 0o600), os.WriteFile(path+"-wal", wal, 0o600)); err != nil {
		t.Fatal(err)
	}
	return path
}

// countLogged returns how many of the names are in the file.
func countLogged(t *testing.T, s *Store) int {
	t.Helper()
	var refs []dibs.Ref
	for i := range loggedNames {
		refs = append(refs, loggedName(i).Ref())
	}
	return len(mustLoad(t, s, refs...))
}

// Every flipped bit of a WAL is found that hides a commit, except in the last transaction.
func TestEveryFlippedBitOfAWAL(t *testing.T) {
	t.Parallel()
	l := newLogged(t)
	end, err := findEnd(bytes.NewReader(l.wal), 2048)
	if err != nil || end.lost || end.at != 0 && end.at != int64(l.ends[loggedNames-1]) {
		t.Fatalf("a sound WAL: %+v, %v", end, err)
	}
	for at := range l.ends[loggedNames-1] {
		inFrame := (at - walHeader) % (frameHeader + 2048)
		if at >= walHeader && inFrame >= frameHeader && at%61 > 0 {
			continue // of pages only some bytes
		}
		damaged := bytes.Clone(l.wal)
		damaged[at] ^= 1 << (at % 8)
		end, err := findEnd(bytes.NewReader(damaged), 2048)
		isHidden := at < l.lastBegins()
		isCommit := inFrame >= framePagesAt && inFrame < frameSaltAt // it ends a transaction where none ended
		if err != nil || end.lost != isHidden && !isCommit {
			t.Fatalf("byte %d of %d, the last transaction begins at %d: %+v, %v", at, len(l.wal), l.lastBegins(), end, err)
		}
	}
}

// A WAL that ends anywhere is what a crash leaves.
func TestTornWAL(t *testing.T) {
	t.Parallel()
	l := newLogged(t)
	for length := 0; length < len(l.wal); length += 97 {
		if end, err := findEnd(bytes.NewReader(l.wal[:length]), 2048); err != nil || end.lost {
			t.Fatalf("%d bytes: %+v, %v", length, end, err)
		}
	}
	path := l.put(t, l.wal[:l.lastBegins()+100])
	if n := countLogged(t, openTest(t, path, Config{})); n != loggedNames-1 {
		t.Errorf("%d names", n)
	}
}

// A WAL that starts over has frames from before, and one whose writer was killed may have the end of
// a transaction that another one has written over.
func TestFormerFramesOfAWAL(t *testing.T) {
	t.Parallel()
	l := newLogged(t)
	other := newLogged(t)
	former := slices.Concat(l.wal[:l.ends[1]], other.wal[l.ends[1]:])
	// The last transaction is shorter than what was there before.
	overwritten := slices.Concat(l.wal[:l.ends[1]], l.wal[l.lastBegins()+frameHeader+2048:l.ends[loggedNames-1]])
	for name, wal := range map[string][]byte{"former": former, "overwritten": overwritten} {
		if end, err := findEnd(bytes.NewReader(wal), 2048); err != nil || end.lost {
			t.Errorf("%s: %+v, %v", name, end, err)
		}
	}
}

// A file whose WAL hides commits is refused and stays as it is. Its operator can inspect it, and go on without those commits.
func TestLostCommits(t *testing.T) {
	t.Parallel()
	l := newLogged(t)
	for name, at := range map[string]int{"in the header": walSaltAt, "in the third transaction": l.ends[1] + 500} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wal := bytes.Clone(l.wal)
			wal[at] ^= 4
			path := l.put(t, wal)
			for range 2 { // the refusal changes nothing
				_, err := Open(t.Context(), path, Config{})
				if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "commits are lost") {
					t.Fatalf("got %v", err)
				}
			}
			if kept, err := os.ReadFile(path + "-wal"); err != nil || !bytes.Equal(kept, wal) {
				t.Fatalf("the WAL has changed: %v", err)
			}
			s, err := Open(t.Context(), path, Config{Inspect: true})
			if err != nil {
				t.Fatal(err)
			}
			wrong := checkedFile(t, s)
			if len(wrong) != 1 || !strings.Contains(wrong[0], "commits are lost") {
				t.Errorf("the file is wrong: %v", wrong)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			_, rest, _ := strings.Cut(wrong[0], "truncate -s ")
			size, _, _ := strings.Cut(rest, " ")
			end, err := strconv.ParseInt(size, 10, 64)
			if err == nil {
				err = os.Truncate(path+"-wal", end)
			}
			if err != nil {
				t.Fatal(err)
			}
			left := 0
			if at > walHeader {
				left = 2
			}
			s = openTest(t, path, Config{})
			if n := countLogged(t, s); n != left {
				t.Errorf("%d names are left, want %d", n, left)
			}
			if wrong := checkedFile(t, s); len(wrong) > 0 {
				t.Errorf("the file is still wrong: %v", wrong)
			}
		})
	}
}

func checkedFile(t *testing.T, s *Store) []string {
	t.Helper()
	moment, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer moment.Close()
	wrong, err := moment.(*view).CheckFile(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return wrong
}

// A WAL that others write is not taken for a damaged one.
func TestCheckOfABusyWAL(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "names.db")
	s := openTest(t, path, Config{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 100 {
			mustCommit(t, s, insertGroup(heldName(numbered(i))))
		}
	}()
	conn := s.readers.another()
	defer conn.close()
	for checks := 0; ; checks++ {
		if err := checkWAL(t.Context(), conn); err != nil {
			t.Fatal(err)
		}
		select {
		case <-done:
			t.Logf("%d checks", checks)
			return
		default:
		}
	}
}
