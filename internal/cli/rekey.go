package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/spf13/cobra"

	"github.com/calldibs/dibs"
)

func (s *session) rekey() *cobra.Command {
	return s.onRegistry("rekey", func(ctx context.Context, registry *dibs.Registry, args []string) (*answer, error) {
		if len(args) > 2 {
			return s.rekeyAll(ctx, registry, args[0], args[1:])
		}
		results, err := registry.Apply(ctx, dibs.Rekey{Namespace: args[0], Value: args[1]})
		if err != nil {
			return nil, err
		}
		return oneName(results[0]), nil
	})
}

// rekeyed counts what became of many names.
type rekeyed struct {
	Rekeyed   int   `json:"rekeyed"`
	Unchanged int   `json:"unchanged"`
	Missing   []int `json:"missing,omitempty"` // the numbers of values without a name
}

// rekeysAtOnce is how many names are rekeyed at once: they share commits.
const rekeysAtOnce = 64

// rekeyAll rekeys many names. A value that is not taken, or not valid, does not stop it, as a table may have values
// without a name. Values are personal data, so it tells their numbers instead.
func (s *session) rekeyAll(ctx context.Context, registry *dibs.Registry, namespace string, values []string) (*answer, error) {
	var report rekeyed
	progress := s.progress()
	for begin := 0; begin < len(values); begin += rekeysAtOnce {
		some := values[begin:min(begin+rekeysAtOnce, len(values))]
		results, errs := make([]dibs.Result, len(some)), make([]error, len(some))
		var running sync.WaitGroup
		for i, value := range some {
			running.Go(func() {
				all, err := registry.Apply(ctx, dibs.Rekey{Namespace: namespace, Value: value})
				if errs[i] = err; err == nil {
					results[i] = all[0]
				}
			})
		}
		running.Wait()
		for i, err := range errs {
			refused, _ := errors.AsType[*dibs.Error](err)
			switch {
			case err == nil && results[i].Replayed:
				report.Unchanged++
			case err == nil:
				report.Rekeyed++
			case refused != nil && (refused.Code == dibs.CodeNotFound || refused.Code == dibs.CodeInvalidValue):
				report.Missing = append(report.Missing, begin+i+1)
			default:
				return nil, fmt.Errorf("value %d of %d, run the command again to go on: %w", begin+i+1, len(values), err)
			}
		}
		progress(begin+len(some), len(values))
	}
	var err error
	if len(report.Missing) > 0 {
		err = exitError{ExitNotFound}
	}
	return &answer{report, func(p *printer) {
		p.line("%s rekeyed, %s unchanged.", count(report.Rekeyed, "name", "names"), thousands(report.Unchanged))
		for _, number := range report.Missing[:min(len(report.Missing), maxExamples)] {
			p.line("value %s has no name in %s", thousands(number), namespace)
		}
		if more := len(report.Missing) - maxExamples; more > 0 {
			p.line("… and %s more: --json tells all of them", thousands(more))
		}
	}}, err
}
