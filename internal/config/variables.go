package config

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
)

// readVariables reads settings from the environment. An empty variable is not set.
func (l *loader) readVariables(environ map[string]string) {
	l.overlay(environ, func(s Setting) origin {
		if environ[s.Env+"_FILE"] != "" {
			return origin{setting: s.Env + "_FILE"}
		}
		return origin{setting: s.Env}
	})
}

// readFlags reads settings from the command line, parsed like variables.
func (l *loader) readFlags(flags map[string]string) {
	values := make(map[string]string)
	for _, s := range Settings() {
		value, given := flags[s.Flag]
		if given && value == "" {
			l.report(origin{setting: "--" + s.Flag}, "is empty: give a value, or remove the flag")
		}
		values[s.Env] = value
	}
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		if !slices.ContainsFunc(Settings(), func(s Setting) bool { return s.Flag == name }) {
			l.report(origin{setting: "--" + name}, "unknown setting")
		}
	}
	l.overlay(values, func(s Setting) origin { return origin{setting: "--" + s.Flag} })
}

// overlay sets settings from values, by the names of variables.
func (l *loader) overlay(values map[string]string, from func(Setting) origin) {
	for _, s := range Settings() {
		if values[s.Env] != "" {
			l.origins[s.Key] = from(s)
		}
	}
	err := env.ParseWithOptions(&l.config, env.Options{
		Environment: values,
		Prefix:      "DIBS_",
		FuncMap: map[reflect.Type]env.ParserFunc{
			reflect.TypeFor[time.Duration](): func(text string) (any, error) { return parseDuration(text) },
			reflect.TypeFor[int]():           func(text string) (any, error) { return parseCount(text) },
		},
	})
	var all env.AggregateError
	if !errors.As(err, &all) {
		return
	}
	for _, err := range all.Errors {
		if failed, ok := errors.AsType[env.ParseError](err); ok {
			key := strings.ToLower(failed.Name[:1]) + failed.Name[1:]
			if key == "logLevel" {
				failed.Err = errLevel
			}
			l.report(l.origins[key], "%v", failed.Err)
			continue
		}
		l.report(origin{}, "%v", err)
	}
}
