package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/calldibs/dibs"
)

// entityFlag is an entity, written type/id.
type entityFlag struct{ dibs.Entity }

// String returns type/id; empty for the zero entity.
func (f *entityFlag) String() string {
	if f.IsZero() {
		return ""
	}
	return f.Entity.String()
}

// Set parses type/id.
func (f *entityFlag) Set(text string) (err error) {
	f.Entity, err = parseEntity(text)
	return err
}

// Type returns the placeholder in the help.
func (*entityFlag) Type() string { return "type/id" }

// parseEntity parses type/id. Everything after the first slash is the id.
func parseEntity(text string) (dibs.Entity, error) {
	kind, id, ok := strings.Cut(text, "/")
	if !ok || kind == "" || id == "" {
		return dibs.Entity{}, fmt.Errorf("write an entity as type/id, such as user/42")
	}
	return dibs.Entity{Type: kind, ID: id}, nil
}

// ttlFlag is a duration that knows whether it was set.
type ttlFlag struct{ dibs.TTL }

// String returns the duration; empty for the policy's default.
func (f *ttlFlag) String() string {
	d, set := f.Duration()
	if !set {
		return ""
	}
	return d.String()
}

// Set parses a duration.
func (f *ttlFlag) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("write a duration as 90s, 5m or 1h30m")
	}
	f.TTL = dibs.For(d)
	return nil
}

// Type returns the placeholder in the help.
func (*ttlFlag) Type() string { return "duration" }

// metaFlag collects key=value pairs.
type metaFlag map[string]string

// String returns the empty string: there is no default.
func (*metaFlag) String() string { return "" }

// Set adds a pair.
func (f *metaFlag) Set(text string) error {
	k, v, ok := strings.Cut(text, "=")
	if !ok || k == "" {
		return fmt.Errorf("write an entry as key=value")
	}
	if *f == nil {
		*f = make(metaFlag)
	}
	(*f)[k] = v
	return nil
}

// Type returns the placeholder in the help.
func (*metaFlag) Type() string { return "key=value" }

// momentFlag is a moment: a date, or RFC 3339.
type momentFlag struct{ time.Time }

// String returns the moment; empty for the zero moment.
func (f *momentFlag) String() string {
	if f.IsZero() {
		return ""
	}
	return f.Format(time.RFC3339)
}

// Set parses a date, which means its start in UTC, or RFC 3339.
func (f *momentFlag) Set(text string) error {
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil {
			f.Time = t.UTC()
			return nil
		}
	}
	return fmt.Errorf("write a moment as 2026-03-01 or 2026-03-01T15:04:05Z")
}

// Type returns the placeholder in the help.
func (*momentFlag) Type() string { return "time" }

// sinceFlag is a moment, or a duration before now.
type sinceFlag struct {
	momentFlag
	now func() time.Time
}

// Set parses 90m, 24h, 7d, or a moment.
func (f *sinceFlag) Set(text string) error {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			f.Time = f.now().UTC().AddDate(0, 0, -int(n))
			return nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		f.Time = f.now().UTC().Add(-d)
		return nil
	}
	if f.momentFlag.Set(text) != nil {
		return fmt.Errorf("write a duration before now, such as 24h or 7d, or a moment, such as 2026-03-01")
	}
	return nil
}

// entityVar adds the required flag --entity.
func entityVar(cmd *cobra.Command, entity *entityFlag, help string) {
	cmd.Flags().Var(entity, "entity", help)
	must(cmd.MarkFlagRequired("entity"))
}

// must panics on errors that only a bug in this package causes; every test finds them.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
