package nametest

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/logtest"
)

// transcript records all output of a program: logs, arguments of hooks, results and
// errors.
type transcript struct{ logtest.Buffer }

// tell records a value in the formats that programs use.
func (s *transcript) tell(what any) {
	fmt.Fprintf(s, "%v\n%+v\n%#v\n", what, what, what)
	if err, ok := what.(error); ok {
		s.tellError(err)
		return
	}
	if data, err := json.Marshal(what); err == nil {
		fmt.Fprintf(s, "%s\n", data)
	}
}

// tellError also records the content of an error.
func (s *transcript) tellError(err error) {
	for ; err != nil; err = errors.Unwrap(err) {
		e, ok := err.(*dibs.Error) //nolint:errorlint // the whole chain is walked
		if !ok {
			fmt.Fprintf(s, "%+v\n%#v\n", err, err)
			continue
		}
		s.tell(*e)
		if e.Refusal != nil {
			s.tell(*e.Refusal)
		}
		for _, f := range e.Failures {
			s.tell(f.Err)
		}
	}
}

// config makes a registry write all output to the transcript.
func (s *transcript) config(policies map[string]dibs.Policy) dibs.Config {
	return dibs.Config{
		Policies: policies,
		Logger:   slog.New(slog.NewJSONHandler(s, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Observer: dibs.Observer{
			Command: func(info dibs.CommandInfo) {
				info.Commands = nil // the caller's own input, with the value
				s.tell(info)
				if info.Err != nil {
					s.tell(info.Err)
				}
			},
			Batch: func(info dibs.BatchInfo) { s.tell(info) },
			Sweep: func(report dibs.SweepReport) { s.tell(report) },
		},
	}
}
