package cli

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/calldibs/dibs"
)

// parsedFlag is a flag with a parser of its own. Its default is the zero value.
type parsedFlag struct {
	placeholder string // in the help
	parse       func(string) error
}

func (f parsedFlag) String() string        { return "" }
func (f parsedFlag) Set(text string) error { return f.parse(text) }
func (f parsedFlag) Type() string          { return f.placeholder }

// entityVar adds a flag for an entity, written type/id.
func entityVar(cmd *cobra.Command, entity *dibs.Entity, name, help string) {
	cmd.Flags().Var(parsedFlag{"type/id", func(text string) (err error) {
		*entity, err = parseEntity(text)
		return err
	}}, name, help)
}

// requiredEntityVar adds a required flag for an entity.
func requiredEntityVar(cmd *cobra.Command, entity *dibs.Entity, name, help string) {
	entityVar(cmd, entity, name, help)
	must(cmd.MarkFlagRequired(name))
}

// scopeVar adds the flag --scope.
func scopeVar(cmd *cobra.Command, scope *string) {
	cmd.Flags().StringVar(scope, "scope", "", "the entity's `scope`: the part of its namespaces before the last dot, acme for acme.slug")
}

// namespaceVar adds the flag --namespace, which completes.
func (s *session) namespaceVar(cmd *cobra.Command, namespace *string, help string) {
	cmd.Flags().StringVar(namespace, "namespace", "", help)
	must(cmd.RegisterFlagCompletionFunc("namespace", s.completeNamespace))
}

// parseEntity parses type/id. Everything after the first slash is the id.
func parseEntity(text string) (dibs.Entity, error) {
	kind, id, ok := strings.Cut(text, "/")
	if !ok || kind == "" || id == "" {
		return dibs.Entity{}, errors.New("write an entity as type/id, such as user/42")
	}
	return dibs.Entity{Type: kind, ID: id}, nil
}

// ttlVar adds the flag --ttl. Unless it is set, the policy's default applies.
func ttlVar(cmd *cobra.Command, ttl *dibs.TTL, help string) {
	cmd.Flags().Var(parsedFlag{"duration", func(text string) error {
		d, err := time.ParseDuration(text)
		if err != nil {
			return errors.New("write a duration as 90s, 5m or 1h30m")
		}
		*ttl = dibs.For(d)
		return nil
	}}, "ttl", help)
}

// metaVar adds the flag --meta, which collects key=value pairs.
func metaVar(cmd *cobra.Command, meta *map[string]string, help string) {
	cmd.Flags().Var(parsedFlag{"key=value", func(text string) error {
		k, v, ok := strings.Cut(text, "=")
		if !ok || k == "" {
			return errors.New("write an entry as key=value")
		}
		if *meta == nil {
			*meta = make(map[string]string)
		}
		(*meta)[k] = v
		return nil
	}}, "meta", help)
}

// timeVar adds a flag for a time.
func timeVar(cmd *cobra.Command, at *time.Time, name, help string) {
	cmd.Flags().Var(parsedFlag{"time", func(text string) (err error) {
		*at, err = parseTime(text)
		return err
	}}, name, help)
}

// parseTime parses RFC 3339, or a date, which means its start in UTC.
func parseTime(text string) (time.Time, error) {
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, errors.New("write a time as 2026-03-01 or 2026-03-01T15:04:05Z")
}

// parseSince parses a duration before now, such as 90m, 24h or 7d, or a time.
func parseSince(text string, now time.Time) (time.Time, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return now.UTC().AddDate(0, 0, -int(n)), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.UTC().Add(-d), nil
	}
	if t, err := parseTime(text); err == nil {
		return t, nil
	}
	return time.Time{}, errors.New("write a duration before now, such as 24h or 7d, or a time, such as 2026-03-01")
}

// must panics on errors that only a bug in this package causes; every test finds them.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
