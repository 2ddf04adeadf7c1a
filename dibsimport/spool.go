package dibsimport

import (
	"bufio"
	"encoding/gob"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math"
	"os"

	"github.com/calldibs/dibs"
)

// spool keeps rows in a temporary file until they can be entered. The zero spool is empty. It keeps values as
// they are, also those that are no UTF-8, which JSON would change.
type spool struct {
	file *os.File
	out  *bufio.Writer
	rows *gob.Encoder
}

func (s *spool) add(row Row) error { return inTempDir(s.write(row)) }

func (s *spool) write(row Row) error {
	if s.file == nil {
		file, err := os.CreateTemp("", "dibs-import-*")
		if err != nil {
			return err
		}
		_ = os.Remove(file.Name()) // the open file stays, and no crash leaves it behind
		s.file, s.out = file, bufio.NewWriter(file)
		s.rows = gob.NewEncoder(s.out)
	}
	return s.rows.Encode(row)
}

func (s *spool) flush() error {
	if s.file == nil {
		return nil
	}
	return inTempDir(s.out.Flush())
}

// each calls do for each row, in order.
func (s *spool) each(do func(Row) error) error {
	if s.file == nil {
		return nil
	}
	if err := s.flush(); err != nil {
		return err
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return inTempDir(err)
	}
	rows := gob.NewDecoder(bufio.NewReader(s.file))
	for {
		var row Row
		err := rows.Decode(&row)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = do(row)
		}
		if err != nil {
			return err
		}
	}
}

func (s *spool) close() {
	if s.file != nil {
		_ = s.file.Close()
	}
}

// Kept has the records of a source in a temporary file, so that a plan and its import read the same ones.
type Kept struct {
	columns []string
	records spool
}

// Keep reads a source to its end. The caller closes what it returns.
func Keep(source Source) (*Kept, error) {
	k := new(Kept)
	for {
		record, err := source.Next()
		if err == nil {
			err = k.records.add(Row{Record: record})
		}
		if errors.Is(err, io.EOF) {
			k.columns = source.Columns()
			if err = k.records.flush(); err == nil {
				return k, nil
			}
		}
		if err != nil {
			k.Close()
			return nil, err
		}
	}
}

// Source returns the records from the beginning.
func (k *Kept) Source() Source {
	source := &keptSource{columns: k.columns}
	if k.records.file != nil {
		source.rows = gob.NewDecoder(bufio.NewReader(io.NewSectionReader(k.records.file, 0, math.MaxInt64)))
	}
	return source
}

// Close removes the file.
func (k *Kept) Close() { k.records.close() }

type keptSource struct {
	columns []string
	rows    *gob.Decoder // nil if there are none
}

func (k *keptSource) Columns() []string { return k.columns }

func (k *keptSource) Next() (Record, error) {
	if k.rows == nil {
		return Record{}, io.EOF
	}
	var row Row
	err := k.rows.Decode(&row)
	return row.Record, err
}

// inTempDir adds to an error where rows are kept.
func inTempDir(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("rows are kept in %s, and TMPDIR sets another folder: %w", os.TempDir(), err)
}

// rowSet is a set of rows, by where the source has them. There may be millions, so it has only hashes,
// of which no two are equal by chance in any source that can be read.
type rowSet struct {
	seed   maphash.Seed
	hashes map[uint64]struct{}
}

func newRowSet() *rowSet { return &rowSet{maphash.MakeSeed(), make(map[uint64]struct{})} }

func (s *rowSet) add(where string) { s.hashes[maphash.String(s.seed, where)] = struct{}{} }

func (s *rowSet) has(where string) bool {
	if s == nil {
		return false
	}
	_, found := s.hashes[maphash.String(s.seed, where)]
	return found
}

// suffixes gives numbers to names that are taken. Of many rows that want one name, each gets a number of
// its own at once.
type suffixes struct {
	wanted map[string]int // the number to try next, by namespace and value; forgotten when it grows large
}

// maxWanted is how many names suffixes remembers, and maxSuffix up to which number it tries.
const (
	maxWanted = 100_000
	maxSuffix = 100_000
)

// next gives the row the next name to try. It reports whether there is one.
func (s *suffixes) next(row *Row) bool {
	if row.original == "" {
		row.original, row.suffix = row.Value, 1
	}
	if len(s.wanted) >= maxWanted || s.wanted == nil {
		s.wanted = make(map[string]int)
	}
	row.suffix = max(row.suffix+1, s.wanted[row.nameKey()])
	s.wanted[row.nameKey()] = row.suffix + 1
	row.Value = fmt.Sprintf("%s-%d", row.original, row.suffix)
	return row.suffix <= maxSuffix
}

func (r *Row) nameKey() string { return r.Namespace + ":" + r.original }

// Scratch is a registry that decides like another one and changes nothing of it.
type Scratch struct {
	registry *dibs.Registry
	folder   string
}

// Close removes what the scratch registry has stored.
func (s *Scratch) Close() error {
	return errors.Join(s.registry.Close(), os.RemoveAll(s.folder))
}
