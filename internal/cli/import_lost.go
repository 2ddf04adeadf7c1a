package cli

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/calldibs/dibs/dibsimport"
	"github.com/calldibs/dibs/internal/durable"
)

// lostFile writes rows that were not imported, with the columns that they had and the problem, so
// that they can be edited and imported again. A nil lostFile writes nothing.
type lostFile struct {
	path    string
	file    *os.File
	rows    *csv.Writer
	objects *json.Encoder
	columns []string
}

func (i *importing) newLostFile(wanted bool) *lostFile {
	if i.lost == "" || !wanted {
		return nil
	}
	return &lostFile{path: i.lost}
}

const problemColumn = "dibs_problem"

func (f *lostFile) write(l dibsimport.Lost) (err error) {
	if f == nil {
		return nil
	}
	if f.file == nil {
		if err := f.create(l.Columns); err != nil {
			return err
		}
	}
	if f.objects != nil {
		row := maps.Clone(l.Fields)
		row[problemColumn] = problemText(l)
		return f.objects.Encode(row)
	}
	row := make([]string, len(f.columns))
	for i, column := range f.columns {
		row[i] = l.Fields[column]
	}
	row[len(row)-1] = problemText(l)
	return f.rows.Write(row)
}

func (f *lostFile) create(columns []string) (err error) {
	if f.file, err = os.OpenFile(f.path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600); err != nil {
		return err
	}
	if ext := filepath.Ext(f.path); ext == ".jsonl" || ext == ".ndjson" {
		f.objects = json.NewEncoder(f.file)
		return nil
	}
	f.rows = csv.NewWriter(f.file)
	f.columns = append(slices.DeleteFunc(slices.Clone(columns), func(c string) bool { return c == problemColumn }), problemColumn)
	return f.rows.Write(f.columns)
}

// close ends the file. If no row was lost, the file has none: what an earlier import lost is replaced.
func (f *lostFile) close(columns []string) (err error) {
	if f == nil {
		return nil
	}
	if f.file == nil {
		if err := f.create(columns); err != nil {
			return err
		}
	}
	if f.rows != nil {
		f.rows.Flush()
		err = f.rows.Error()
	}
	return errors.Join(err, f.sync(), f.file.Close())
}

// sync writes the file to the disk: names that were lost are nowhere else once the source is gone.
func (f *lostFile) sync() error {
	if info, err := f.file.Stat(); err != nil || !info.Mode().IsRegular() {
		return err // a pipe or a terminal has no disk
	}
	return errors.Join(f.file.Sync(), durable.Folder(filepath.Dir(f.path)))
}
