package extsort_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/calldibs/dibs/internal/extsort"
)

func sorted(t *testing.T, s *extsort.Sorter) (items []string) {
	t.Helper()
	for item, err := range s.Sorted() {
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, string(item))
	}
	return items
}

// TestSorted compares with a sort in memory: of items that fit, of items that take files, and of so
// many files that they have to be merged meanwhile.
func TestSorted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ items, memory int }{
		"none": {0, 0}, "in memory": {1000, 0}, "files": {1000, 4096}, "many files": {20_000, 1000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(1, uint64(c.items)))
			folder := t.TempDir()
			s := &extsort.Sorter{Memory: c.memory, Folder: folder}
			var want []string
			for range c.items {
				item := fmt.Sprintf("%d%s", random.IntN(c.items), strings.Repeat("x", random.IntN(50)))
				want = append(want, item)
				if err := s.Add([]byte(item)); err != nil {
					t.Fatal(err)
				}
			}
			slices.Sort(want)
			for range 2 { // it can be read again
				if got := sorted(t, s); !slices.Equal(got, want) {
					t.Errorf("%d items, want %d, or in another order", len(got), len(want))
				}
			}
			if spilled := s.Spilled() > 0; spilled != (c.memory != 0) {
				t.Errorf("%d bytes in files", s.Spilled())
			}
			if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
				t.Errorf("%d files would be left after a crash: %v", len(left), err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestOneItemLargerThanMemory checks that a large item is sorted too.
func TestOneItemLargerThanMemory(t *testing.T) {
	t.Parallel()
	s := &extsort.Sorter{Memory: 100}
	defer func() { _ = s.Close() }()
	large := bytes.Repeat([]byte("b"), 10_000)
	for _, item := range [][]byte{[]byte("c"), large, []byte("a")} {
		if err := s.Add(item); err != nil {
			t.Fatal(err)
		}
	}
	if got := sorted(t, s); !slices.Equal(got, []string{"a", string(large), "c"}) {
		t.Errorf("%d items in another order", len(got))
	}
}

// TestNoFolder checks that a disk that takes no file is an error of Add.
func TestNoFolder(t *testing.T) {
	t.Parallel()
	s := &extsort.Sorter{Memory: 10, Folder: t.TempDir() + "/absent"}
	var err error
	for range 100 {
		if err = s.Add([]byte("item")); err != nil {
			break
		}
	}
	if err == nil {
		t.Error("no error")
	}
}
