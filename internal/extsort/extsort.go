// Package extsort sorts more items than fit into memory.
package extsort

import (
	"bufio"
	"bytes"
	"container/heap"
	"encoding/binary"
	"errors"
	"io"
	"iter"
	"os"
	"slices"
)

// DefaultMemory is how many bytes of items a Sorter keeps in memory by default.
const DefaultMemory = 16 << 20

const (
	// maxRuns is how many files are merged at once. When there are more, they are merged to one.
	maxRuns = 256
	// readBuffer is what the merge reads ahead of each file.
	readBuffer = 32 << 10
)

// Sorter sorts items, which are bytes, in byte order. It keeps Memory bytes of them, and the others in
// temporary files, which are gone when the Sorter is closed or the process ends. The zero Sorter is
// empty. It is not safe for concurrent use.
type Sorter struct {
	// Memory is how many bytes of items are kept in memory. Zero means [DefaultMemory].
	Memory int
	// Folder is where temporary files are made. Empty means that of the system.
	Folder string

	arena []byte
	items []span // of the arena
	runs  []*os.File
	spent int64 // bytes in temporary files
}

type span struct{ from, to uint32 }

// Add adds an item, which the caller may then change.
func (s *Sorter) Add(item []byte) error {
	if s.Memory == 0 {
		s.Memory = DefaultMemory
	}
	// An item costs its bytes and its span.
	if len(s.arena)+8*len(s.items)+len(item)+8 > s.Memory && len(s.items) > 0 {
		if err := s.spill(); err != nil {
			return err
		}
	}
	from := len(s.arena)
	s.arena = append(s.arena, item...)
	s.items = append(s.items, span{uint32(from), uint32(len(s.arena))})
	return nil
}

// Spilled returns how many bytes are in temporary files.
func (s *Sorter) Spilled() int64 { return s.spent }

func (s *Sorter) item(at span) []byte { return s.arena[at.from:at.to] }

func (s *Sorter) sort() {
	slices.SortFunc(s.items, func(a, b span) int { return bytes.Compare(s.item(a), s.item(b)) })
}

// spill writes the items in memory to a file.
func (s *Sorter) spill() error {
	if len(s.runs) == maxRuns {
		if err := s.mergeRuns(); err != nil {
			return err
		}
	}
	s.sort()
	err := s.write(func(yield func([]byte, error) bool) {
		for _, at := range s.items {
			if !yield(s.item(at), nil) {
				return
			}
		}
	})
	s.arena, s.items = s.arena[:0], s.items[:0]
	return err
}

// mergeRuns makes one file of all.
func (s *Sorter) mergeRuns() error {
	runs := s.runs
	s.runs = nil
	defer func() {
		for _, run := range runs {
			_ = run.Close()
		}
	}()
	return s.write(merge(runs))
}

// write writes sorted items to a new file.
func (s *Sorter) write(items iter.Seq2[[]byte, error]) (err error) {
	file, err := os.CreateTemp(s.Folder, "dibs-sort-*")
	if err != nil {
		return err
	}
	_ = os.Remove(file.Name()) // the open file stays, and no crash leaves it behind
	s.runs = append(s.runs, file)
	out := bufio.NewWriterSize(file, readBuffer)
	var size [binary.MaxVarintLen64]byte
	for item, err := range items {
		if err != nil {
			return err
		}
		n := binary.PutUvarint(size[:], uint64(len(item)))
		_, _ = out.Write(size[:n]) // Flush returns the error
		if _, err := out.Write(item); err != nil {
			return err
		}
		s.spent += int64(n + len(item))
	}
	return out.Flush()
}

// Sorted yields all items in order. An item is valid until the next one. No item can be added
// meanwhile, and Sorted can be called again.
func (s *Sorter) Sorted() iter.Seq2[[]byte, error] {
	if len(s.runs) == 0 {
		return func(yield func([]byte, error) bool) {
			s.sort()
			for _, at := range s.items {
				if !yield(s.item(at), nil) {
					return
				}
			}
		}
	}
	return func(yield func([]byte, error) bool) {
		if len(s.items) > 0 {
			if err := s.spill(); err != nil {
				yield(nil, err)
				return
			}
		}
		s.arena, s.items = nil, nil // the merge has its own buffers
		merge(s.runs)(yield)
	}
}

// Close removes the temporary files.
func (s *Sorter) Close() error {
	var err error
	for _, run := range s.runs {
		err = errors.Join(err, run.Close())
	}
	s.runs, s.arena, s.items = nil, nil, nil
	return err
}

// merge yields the items of sorted files in order.
func merge(files []*os.File) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var open runs
		for _, file := range files {
			r := &run{in: bufio.NewReaderSize(io.NewSectionReader(file, 0, 1<<62), readBuffer)}
			switch err := r.next(); {
			case err == nil:
				open = append(open, r)
			case !errors.Is(err, io.EOF):
				yield(nil, err)
				return
			}
		}
		heap.Init(&open)
		for len(open) > 0 {
			if !yield(open[0].item, nil) {
				return
			}
			switch err := open[0].next(); {
			case err == nil:
				heap.Fix(&open, 0)
			case errors.Is(err, io.EOF):
				heap.Pop(&open)
			default:
				yield(nil, err)
				return
			}
		}
	}
}

// run reads a file of sorted items.
type run struct {
	in   *bufio.Reader
	item []byte
}

func (r *run) next() error {
	size, err := binary.ReadUvarint(r.in)
	if err != nil {
		return err // io.EOF at the end of the file
	}
	r.item = slices.Grow(r.item[:0], int(size))[:size]
	if _, err = io.ReadFull(r.in, r.item); errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// runs is a heap by the next item.
type runs []*run

func (r runs) Len() int           { return len(r) }
func (r runs) Less(i, j int) bool { return bytes.Compare(r[i].item, r[j].item) < 0 }
func (r runs) Swap(i, j int)      { r[i], r[j] = r[j], r[i] }
func (r *runs) Push(x any)        { *r = append(*r, x.(*run)) }

// Pop removes the last run, for [heap.Pop].
func (r *runs) Pop() any {
	last := (*r)[len(*r)-1]
	*r = (*r)[:len(*r)-1]
	return last
}
