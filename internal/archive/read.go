package archive

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/calldibs/dibs"
)

// ErrArchive is the error for a file that is not a whole, unchanged archive of this version.
var ErrArchive = errors.New("the archive cannot be used")

func wrong(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrArchive, fmt.Errorf(format, args...))
}

// Summary is what an archive says about itself.
type Summary struct {
	Header
	Counts
	content string
	sha256  string
	cursors []cursorLine
}

// maxLine is the length of the longest line. No engine takes a record that is larger.
const maxLine = 256 << 20

// lines returns the lines of a file with their line feeds, each valid until the next.
func lines(ctx context.Context, r io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		scanner := bufio.NewScanner(r)
		scanner.Buffer(make([]byte, 1<<20), maxLine)
		scanner.Split(func(data []byte, atEOF bool) (int, []byte, error) {
			if i := bytes.IndexByte(data, '\n'); i >= 0 {
				return i + 1, data[:i+1], nil
			}
			if atEOF && len(data) > 0 {
				return len(data), data, nil
			}
			return 0, nil, nil
		})
		for scanner.Scan() {
			err := ctx.Err()
			if !yield(scanner.Bytes(), err) || err != nil {
				return
			}
		}
		if err := scanner.Err(); err != nil {
			yield(nil, err)
		}
	}
}

var (
	gzipMagic    = []byte{0x1f, 0x8b}
	cursorPrefix = []byte(`{"cursor":`)
	endPrefix    = []byte(`{"end":`)
)

// Check reads all of an archive. It fails with [ErrArchive] unless the archive is whole and unchanged.
func Check(ctx context.Context, r io.Reader) (s Summary, err error) {
	hash, number, last := sha256.New(), 0, (*end)(nil)
	for text, err := range lines(ctx, r) {
		number++
		switch {
		case err != nil:
			return s, wrong("line %d: %w", number, err)
		case last != nil:
			return s, wrong("line %d: something follows the last line", number)
		case number == 1:
			err = s.readHeader(text)
		case bytes.HasPrefix(text, endPrefix):
			var l line
			if json.Unmarshal(text, &l) != nil || l.End == nil {
				return s, errCutOff(number)
			}
			last = l.End
			continue
		case bytes.HasPrefix(text, cursorPrefix):
			var l line
			if err = json.Unmarshal(text, &l); err == nil && l.Cursor != nil {
				s.cursors = append(s.cursors, *l.Cursor)
			}
		}
		if err != nil {
			return s, err
		}
		hash.Write(text)
	}
	s.sha256 = hex.EncodeToString(hash.Sum(nil))
	switch {
	case number == 0:
		return s, wrong("it is empty")
	case last == nil:
		return s, errCutOff(number)
	case last.SHA256 != s.sha256:
		return s, wrong("it was changed or damaged: the SHA-256 of its lines is %s, by its last line it was %s", s.sha256, last.SHA256)
	}
	s.Counts, s.content = last.Counts, last.Content
	return s, nil
}

func errCutOff(number int) error {
	return wrong("it is cut off after line %d: the last line is missing; make the archive again, or copy all of it", number)
}

func (s *Summary) readHeader(text []byte) error {
	var l line
	switch err := json.Unmarshal(text, &l); {
	case bytes.HasPrefix(text, gzipMagic):
		return wrong("it is compressed: use gunzip -c FILE | dibs load -")
	case err != nil || l.Header == nil || l.Header.Format != format:
		return wrong("it is not an archive of dibs dump: its first line is not the header of one")
	case l.Header.Version != Version:
		return wrong("it has version %d of the format, this program reads version %d: use the version of Dibs that made it, or a newer one", l.Header.Version, Version)
	}
	s.Header = *l.Header
	return nil
}

// item is a record or an event of an archive.
type item struct {
	record dibs.Record
	event  *dibs.Event
}

// items returns the records and events of an archive that was checked, except for the first skip ones.
func items(ctx context.Context, r io.Reader, skip int) iter.Seq2[item, error] {
	return func(yield func(item, error) bool) {
		number := 0
		for text, err := range lines(ctx, r) {
			number++
			if err == nil && (number == 1 || bytes.HasPrefix(text, cursorPrefix) || bytes.HasPrefix(text, endPrefix)) {
				continue
			}
			if skip--; err == nil && skip >= 0 {
				continue
			}
			var it item
			if err == nil {
				it, err = parse(text)
			}
			if err != nil {
				err = wrong("line %d: %w", number, err)
			}
			if !yield(it, err) || err != nil {
				return
			}
		}
	}
}

// parse reads the line of a record or an event.
func parse(text []byte) (it item, err error) {
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return it, err
	}
	switch {
	case l.Name != nil:
		it.record, err = l.Name.record()
	case l.Entity != nil:
		e := dibs.EntityRecord(*l.Entity)
		it.record = &e
	case l.Document != nil:
		d := dibs.Document(*l.Document)
		it.record = &d
	case l.Event != nil:
		e := dibs.Event(*l.Event)
		it.event = &e
	default:
		err = errors.New("it is of no known kind")
	}
	return it, err
}
