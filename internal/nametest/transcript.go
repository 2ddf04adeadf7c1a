package nametest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/calldibs/dibs"
)

// transcript takes down everything that a program is told: logs, what hooks are given,
// results and errors.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *transcript) Write(line []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(line)
}

func (s *transcript) bytes() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.Clone(s.text.Bytes())
}

// tell takes down what something is, in the ways in which programs write it.
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

// tellError takes down what is inside of an error too.
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

// config lets a registry tell everything to the transcript.
func (s *transcript) config(policies map[string]dibs.Policy) dibs.Config {
	return dibs.Config{
		Policies: policies,
		Logger:   slog.New(slog.NewJSONHandler(s, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Observer: dibs.Observer{
			Command: func(info dibs.CommandInfo) {
				info.Commands = nil // what the caller asked for, value and all
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
