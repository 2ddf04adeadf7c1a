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

// String returns type/id, or nothing for none.
func (f *entityFlag) String() string {
	if f.IsZero() {
		return ""
	}
	return f.Entity.String()
}

// Set reads type/id.
func (f *entityFlag) Set(text string) (err error) {
	f.Entity, err = parseEntity(text)
	return err
}

// Type is what the help calls it.
func (*entityFlag) Type() string { return "type/id" }

// parseEntity reads type/id. What follows the first slash is the id.
func parseEntity(text string) (dibs.Entity, error) {
	kind, id, ok := strings.Cut(text, "/")
	if !ok || kind == "" || id == "" {
		return dibs.Entity{}, fmt.Errorf("an entity is written type/id, such as user/42")
	}
	return dibs.Entity{Type: kind, ID: id}, nil
}

// ttlFlag is a duration that knows whether it was given.
type ttlFlag struct{ dibs.TTL }

// String returns the duration, or nothing for the policy's default.
func (f *ttlFlag) String() string {
	d, set := f.Duration()
	if !set {
		return ""
	}
	return d.String()
}

// Set reads a duration.
func (f *ttlFlag) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("a duration is written like 90s, 5m or 1h30m")
	}
	f.TTL = dibs.For(d)
	return nil
}

// Type is what the help calls it.
func (*ttlFlag) Type() string { return "duration" }

// metaFlag gathers k=v pairs.
type metaFlag map[string]string

// String returns nothing: there is no default to show.
func (*metaFlag) String() string { return "" }

// Set adds one pair.
func (f *metaFlag) Set(text string) error {
	k, v, ok := strings.Cut(text, "=")
	if !ok || k == "" {
		return fmt.Errorf("an entry is written key=value")
	}
	if *f == nil {
		*f = make(metaFlag)
	}
	(*f)[k] = v
	return nil
}

// Type is what the help calls it.
func (*metaFlag) Type() string { return "key=value" }

// momentFlag is a moment, written as a date or in full.
type momentFlag struct{ time.Time }

// String returns the moment, or nothing for none.
func (f *momentFlag) String() string {
	if f.IsZero() {
		return ""
	}
	return f.Format(time.RFC3339)
}

// Set reads a date, which means its beginning, or RFC 3339.
func (f *momentFlag) Set(text string) error {
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil {
			f.Time = t.UTC()
			return nil
		}
	}
	return fmt.Errorf("a moment is written 2026-03-01 or 2026-03-01T15:04:05Z")
}

// Type is what the help calls it.
func (*momentFlag) Type() string { return "time" }

// sinceFlag is a moment, or how long ago it is.
type sinceFlag struct {
	momentFlag
	now func() time.Time
}

// Set reads 90m, 24h, 7d, or a moment.
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
		return fmt.Errorf("write how long ago, such as 24h or 7d, or a moment, such as 2026-03-01")
	}
	return nil
}

// entityVar adds the flag --entity, which most verbs need.
func entityVar(cmd *cobra.Command, entity *entityFlag, help string) {
	cmd.Flags().Var(entity, "entity", help)
	must(cmd.MarkFlagRequired("entity"))
}

// must is for what only a mistake in this package makes fail; every test finds it.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
