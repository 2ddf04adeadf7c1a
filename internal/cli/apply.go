package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
)

// maxPlan is the maximum size of a plan in bytes: far more than a registry accepts at once.
const maxPlan = 16 << 20

func (s *session) apply() *cobra.Command {
	var path string
	var dryRun bool
	cmd := s.command("apply", func(ctx context.Context, _ []string) (*answer, error) {
		commands, err := s.readPlan(path)
		if err != nil {
			return nil, err
		}
		return s.withRegistry(ctx, func(registry *dibs.Registry) (*answer, error) {
			run := registry.Apply
			if dryRun {
				run = registry.DryRun
			}
			results, err := run(ctx, commands...)
			if err != nil {
				return nil, err
			}
			return planned(results, dryRun), nil
		})
	})
	cmd.Flags().StringVarP(&path, "file", "f", "", "the `file` with the plan; - for stdin")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show what would be done, without doing it")
	must(cmd.MarkFlagRequired("file"))
	must(cmd.MarkFlagFilename("file", "json"))
	return cmd
}

// readPlan reads a plan from a file, or from stdin for "-".
func (s *session) readPlan(path string) ([]dibs.Command, error) {
	in := s.Stdin
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, usage("the plan: %w", err)
		}
		defer file.Close()
		in = file
	}
	data, err := io.ReadAll(io.LimitReader(in, maxPlan+1))
	if err != nil {
		return nil, usage("the plan: %w", err)
	}
	if len(data) > maxPlan {
		return nil, usage("the plan is larger than %d MiB", maxPlan>>20)
	}
	return parsePlan(data)
}

// parsePlan parses the commands of a plan.
func parsePlan(data []byte) ([]dibs.Command, error) {
	var plan struct {
		Commands []wire.Command `json:"commands"`
	}
	var target any = &plan
	data = bytes.TrimSpace(data)
	if bytes.HasPrefix(data, []byte("[")) {
		target = &plan.Commands
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(target); err != nil && len(data) > 0 {
		return nil, usage("the plan: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, usage("the plan: unexpected data after its end")
	}
	if len(plan.Commands) == 0 {
		return nil, usage("the plan has no commands")
	}
	commands := make([]dibs.Command, len(plan.Commands))
	for i, c := range plan.Commands {
		var err error
		if commands[i], err = c.Command(); err != nil {
			return nil, inPlan(i, err)
		}
	}
	return commands, nil
}

// inPlan adds the number of the command to an error.
func inPlan(i int, err error) error {
	refused, ok := errors.AsType[*dibs.Error](err)
	if !ok {
		return usage("the plan, command %d: %w", i+1, err)
	}
	whole := *refused
	whole.Message = fmt.Sprintf("the plan, command %d: %s", i+1, refused.Message)
	whole.Failures = []dibs.Failure{{Index: i, Err: refused}}
	return &whole
}

// planned returns the answer of a plan. It hides the tokens of a dry run, which hold nothing.
func planned(results []dibs.Result, dryRun bool) *answer {
	document := struct {
		DryRun  bool          `json:"dryRun"`
		Results []wire.Result `json:"results"`
	}{DryRun: dryRun}
	for i := range results {
		if dryRun {
			results[i].Token = ""
		}
		document.Results = append(document.Results, wire.ResultOf(results[i]))
	}
	return &answer{document, func(p *printer) {
		for i, r := range results {
			p.line("command %d", i+1)
			p.result(r)
			p.line("")
		}
		if dryRun {
			p.line("Dry run: nothing was changed.")
		} else {
			p.line("%s applied.", count(len(results), "command", "commands"))
		}
	}}
}
