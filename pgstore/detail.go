package pgstore

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/sqlrow"
)

// detailFields are the columns of a name that share the column detail, in their order there. A new
// one goes to the end. The view dibs_names reads the same order.
var detailFields = fieldsOf(sqlrow.Names,
	"value", "profile", "status", "epoch", "created_at", "principal", "witnessed", "counted", "quarantine_ms",
	"hold_history_ms", "established", "owner_type", "owner_id", "confirmed_at", "ended_at", "intended_type", "intended_id",
	"correlation_id", "meta", "asked", "ask_at", "doubt", "line", "links", "spent")

func fieldsOf(t *sqlrow.Table, names ...string) []sqlrow.Column {
	fields := make([]sqlrow.Column, len(names))
	for i, name := range names {
		for _, c := range t.Columns {
			if c.Name == name {
				fields[i] = c
			}
		}
	}
	return fields
}

// isDetail reports whether a column of names has no column of its own.
func isDetail(name string) bool {
	for i := range detailFields {
		if detailFields[i].Name == name {
			return true
		}
	}
	return false
}

// encodeDetail returns the fields with tabs between them, without empty ones at the end.
func encodeDetail(row sqlrow.Row) string {
	text := make([]byte, 0, 128)
	end := 0
	for i := range detailFields {
		if i > 0 {
			text = append(text, '\t')
		}
		before := len(text)
		text = appendField(text, detailFields[i].At(row))
		if len(text) > before {
			end = len(text)
		}
	}
	return string(text[:end])
}

// appendField appends nothing for a zero value.
func appendField(text []byte, pointer any) []byte {
	switch v := pointer.(type) {
	case *string:
		return append(text, escape(*v)...)
	case *int64:
		return appendNumber(text, *v)
	case *int:
		return appendNumber(text, int64(*v))
	case *uint64:
		return appendNumber(text, int64(*v))
	case *bool:
		if *v {
			text = append(text, 't')
		}
	case *dibs.ID:
		if !v.IsZero() {
			text = hex.AppendEncode(text, v[:])
		}
	case *[]byte:
		text = hex.AppendEncode(text, *v)
	}
	return text
}

func appendNumber(text []byte, n int64) []byte {
	if n == 0 {
		return text
	}
	return strconv.AppendInt(text, n, 10)
}

// decodeDetail sets the fields of a row that was read.
func decodeDetail(detail string, row sqlrow.Row) error {
	for i := range detailFields {
		field, rest, _ := strings.Cut(detail, "\t")
		detail = rest
		if err := setField(detailFields[i].At(row), field); err != nil {
			return fmt.Errorf("pgstore: field %s of a name is damaged: %w", detailFields[i].Name, err)
		}
	}
	return nil
}

// parseID reads an ID in hexadecimal digits. No digits mean no ID.
func parseID(text string) (id dibs.ID, err error) {
	if text != "" && hex.DecodedLen(len(text)) != len(id) {
		return id, fmt.Errorf("an ID has %d digits", len(text))
	}
	_, err = hex.Decode(id[:], []byte(text))
	return id, err
}

func setField(pointer any, field string) (err error) {
	var n int64
	switch v := pointer.(type) {
	case *string:
		*v = unescape(field)
	case *bool:
		*v = field == "t"
	case *dibs.ID:
		*v, err = parseID(field)
	case *[]byte:
		*v, err = hex.DecodeString(field)
	case *int64:
		*v, err = parseNumber(field)
	case *int:
		n, err = parseNumber(field)
		*v = int(n)
	case *uint64:
		n, err = parseNumber(field)
		*v = uint64(n)
	}
	return err
}

func parseNumber(field string) (int64, error) {
	if field == "" {
		return 0, nil
	}
	return strconv.ParseInt(field, 10, 64)
}

// The escapes of COPY keep tabs and line feeds out of a field.
var (
	escaper   = strings.NewReplacer("\\", `\\`, "\t", `\t`, "\n", `\n`)
	unescaper = strings.NewReplacer(`\\`, "\\", `\t`, "\t", `\n`, "\n")
)

func escape(text string) string {
	if strings.ContainsAny(text, "\\\t\n") {
		return escaper.Replace(text)
	}
	return text
}

func unescape(field string) string {
	if strings.Contains(field, `\`) {
		return unescaper.Replace(field)
	}
	return strings.Clone(field)
}
