package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"github.com/calldibs/dibs/internal/spelling"
)

// section is a table of the file. Its methods read the value of a key, if the key is set, and
// report an invalid value.
type section struct {
	loader *loader
	path   string
	values map[string]any
	known  []string // the keys that were read
}

// at returns where a key of the section is set. The empty key means the section itself.
func (s *section) at(key string) origin {
	path := s.path
	if key != "" {
		path = join(path, key)
	}
	return s.where(path)
}

func (s *section) where(path string) origin {
	setting, _, _ := strings.Cut(path, "[")
	if given, ok := s.loader.given[setting]; ok {
		return given
	}
	return origin{s.loader.path, s.loader.lines.line(path), path}
}

func (s *section) has(key string) bool {
	_, ok := s.values[key]
	return ok
}

func (s *section) report(key, format string, args ...any) {
	s.loader.report(s.at(key), format, args...)
}

// reportElement reports a problem with an element of a list.
func (s *section) reportElement(key string, i int, format string, args ...any) {
	s.loader.report(s.where(element(join(s.path, key), i)), format, args...)
}

// take returns the value of a key if it has the type T.
func take[T any](s *section, key, wanted string) (value T, ok bool) {
	s.known = append(s.known, key)
	set, found := s.values[key]
	if !found {
		return value, false
	}
	if value, ok = set.(T); !ok {
		s.report(key, "must be %s, not %s", wanted, kindOf(set))
	}
	return value, ok
}

func kindOf(value any) string {
	switch value.(type) {
	case string:
		return "a text"
	case int64:
		return "a number"
	case float64:
		return "a number with a fraction"
	case bool:
		return "true or false"
	case []any:
		return "a list"
	case map[string]any:
		return "a table"
	case time.Time, toml.LocalDate, toml.LocalDateTime, toml.LocalTime:
		return "a date"
	default:
		return fmt.Sprintf("a %T", value)
	}
}

// set reads a value of the type T.
func set[T any](s *section, key, wanted string, into *T) bool {
	value, ok := take[T](s, key, wanted)
	if ok {
		*into = value
	}
	return ok
}

func (s *section) text(key string, into *string) bool { return set(s, key, "a text", into) }

func (s *section) boolean(key string, into *bool) { set(s, key, "true or false", into) }

// filePath reads the path of a file. A relative one begins at the folder of the configuration
// file; one from the environment or a flag begins at the working directory.
func (s *section) filePath(key string, into *string) bool {
	ok := s.text(key, into)
	if _, given := s.loader.given[join(s.path, key)]; given {
		return ok
	}
	if *into != "" && !filepath.IsAbs(*into) {
		*into = filepath.Join(filepath.Dir(s.loader.path), *into)
	}
	return ok
}

// parse reads a text and parses it into a field, see [parseValue].
func (s *section) parse(key, wanted string, field any) bool {
	text, ok := take[string](s, key, wanted)
	if !ok {
		return false
	}
	err := parseValue(text, field)
	if err != nil {
		s.report(key, "%v", err)
	}
	return err == nil
}

// value reads a field of any of the types of settings, and reports whether it is set and valid.
func (s *section) value(key string, field any) bool {
	switch v := field.(type) {
	case *time.Duration:
		return s.parse(key, `a duration like "90s", "5m" or "30d"`, v)
	case *int:
		number, ok := take[int64](s, key, "a whole number")
		if ok {
			*v = int(number)
		}
		return ok
	case *bool:
		return set(s, key, "true or false", v)
	case *float64: // a number with or without a fraction
		if number, ok := s.values[key].(int64); ok {
			s.known = append(s.known, key)
			*v = float64(number)
			return true
		}
		return set(s, key, "a number from 0 to 1", v)
	case *Size: // a number of bytes, or a text with a unit
		if number, ok := s.values[key].(int64); ok {
			s.known = append(s.known, key)
			*v = Size(number)
			return true
		}
		return s.parse(key, `a size like 65536 or "1MiB"`, v)
	default:
		return s.parse(key, "a text", field)
	}
}

// checkValue reads a value, and sets the field if the value passes the check.
func checkValue[T any](s *section, key string, into *T, check func(T) error) {
	var value T
	if !s.value(key, &value) {
		return
	}
	if err := check(value); err != nil {
		s.report(key, "%v", err)
		return
	}
	*into = value
}

// list reads a list of texts; nil if it is not set.
func (s *section) list(key string) []string {
	list, ok := take[[]any](s, key, "a list of texts")
	if !ok {
		return nil
	}
	texts := make([]string, 0, len(list))
	for i, value := range list {
		text, ok := value.(string)
		if !ok {
			s.reportElement(key, i, "must be a text, not %s", kindOf(value))
			break // the indexes of further elements would be wrong
		}
		texts = append(texts, text)
	}
	return texts
}

// parseEach reads a list of texts and parses each. It leaves out those that are invalid.
func parseEach[T any](s *section, key string, parse func(string) (T, error)) (parsed []T) {
	for i, text := range s.list(key) {
		value, err := parse(text)
		if err != nil {
			s.reportElement(key, i, "%v", err)
			continue
		}
		parsed = append(parsed, value)
	}
	return parsed
}

// checked returns a parse function for texts that are only checked.
func checked(check func(string) error) func(string) (string, error) {
	return func(text string) (string, error) { return text, check(text) }
}

// table reads a table. One that is not set, or not a table, has nil values.
func (s *section) table(key string) *section {
	values, _ := take[map[string]any](s, key, "a table")
	return &section{loader: s.loader, path: join(s.path, key), values: values}
}

// tables reads a list of tables.
func (s *section) tables(key string) []*section {
	list, ok := take[[]any](s, key, "a list of tables")
	if !ok {
		return nil
	}
	var tables []*section
	for i, value := range list {
		path := element(join(s.path, key), i)
		values, ok := value.(map[string]any)
		if !ok {
			s.loader.report(s.where(path), "must be a table, not %s", kindOf(value))
			continue
		}
		tables = append(tables, &section{loader: s.loader, path: path, values: values})
	}
	return tables
}

// finish reports the keys that were not read.
func (s *section) finish() {
	for _, key := range slices.Sorted(maps.Keys(s.values)) {
		if slices.Contains(s.known, key) {
			continue
		}
		near := spelling.Nearest(key, s.known)
		switch {
		case strings.EqualFold(near, key):
			s.report(key, "unknown setting: write %s", near)
		case near != "":
			s.report(key, "unknown setting; did you mean %s?", near)
		case len(s.known) == 0:
			s.report(key, "unknown setting: this table has no settings")
		default:
			s.report(key, "unknown setting: use one of %s", strings.Join(s.known, ", "))
		}
	}
}

// atLeast reads a duration with a minimum.
func (s *section) atLeast(key string, least time.Duration, into *time.Duration) {
	checkValue(s, key, into, func(value time.Duration) error {
		switch {
		case value < least:
			return fmt.Errorf("is %s; it must be at least %s", formatDuration(value), formatDuration(least))
		case value%time.Millisecond != 0:
			return fmt.Errorf("is %s; it must be whole milliseconds", formatDuration(value))
		}
		return nil
	})
}

// within reads a duration with a minimum and a maximum.
func (s *section) within(key string, least, most time.Duration, into *time.Duration) {
	s.atLeast(key, least, into)
	if *into > most {
		s.report(key, "is %s; it must be at most %s", formatDuration(*into), formatDuration(most))
	}
}

// positiveOr reads a positive duration, or a word that means zero.
func (s *section) positiveOr(key, word string, into *time.Duration) {
	text, _ := s.values[key].(string)
	switch d, err := parseDuration(text); {
	case text == word:
		s.known = append(s.known, key)
		*into = 0
	case err == nil && d <= 0:
		s.known = append(s.known, key)
		s.report(key, "is %s; it must be at least 1ms, or %q", formatDuration(d), word)
	default:
		s.atLeast(key, time.Millisecond, into)
	}
}

// count reads a number within bounds.
func (s *section) count(key string, least, most int, into *int) {
	checkValue(s, key, into, between(least, most))
}

// oneOf reads one of a few numbers.
func (s *section) oneOf(key string, into *int, choices ...int) {
	checkValue(s, key, into, func(value int) error {
		if !slices.Contains(choices, value) {
			return fmt.Errorf("is %d; it must be one of %s", value, strings.Trim(fmt.Sprint(choices), "[]"))
		}
		return nil
	})
}

// secret reads a text: key contains it, keyFile names a file with it, or keyEnv a variable. It
// returns the text, which is empty if no key is set, and the key that is set. Ok is false after
// an error, which was reported.
func (s *section) secret(key string, environ map[string]string) (value, from string, ok bool) {
	var file, variable string
	s.text(key, &value)
	s.filePath(key+"File", &file)
	if s.text(key+"Env", &variable) {
		s.loader.named = append(s.loader.named, variable)
	}
	from = key
	var err error
	switch {
	case value != "" && file != "", (value != "" || file != "") && variable != "":
		s.report("", "must have only one of %[1]s, %[1]sFile and %[1]sEnv", key)
		return "", key, false
	case file != "":
		from = key + "File"
		value, err = readSecret(file)
	case variable != "":
		from = key + "Env"
		if value = environ[variable]; value == "" {
			err = fmt.Errorf("the variable %s is not set", variable)
		}
	}
	if err != nil {
		s.report(from, "%v", err)
	}
	return value, from, err == nil
}
