package dibsclient

import (
	"context"
	"net/http"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
)

// Sweep ends what is over. Asking twice sweeps twice, which does no harm.
func (c *client) Sweep(ctx context.Context, limit int) (dibs.SweepReport, error) {
	type body struct {
		Limit int `json:"limit"`
	}
	var report dibs.SweepReport
	do := post("sweep", "/v1/sweep", body{limit}, into(func(a wire.SweepReport) error {
		report = a.SweepReport()
		return nil
	}))
	do.unbounded = true
	err := c.do(ctx, do)
	return report, err
}

// Recanonicalize brings the names of a namespace under its present rules. What stands in
// the way is reported together with the error.
func (c *client) Recanonicalize(ctx context.Context, request dibs.RecanonicalizeRequest) (dibs.Recanonicalization, error) {
	type body struct {
		Namespace string `json:"namespace"`
		DryRun    bool   `json:"dryRun,omitempty"`
	}
	var report dibs.Recanonicalization
	f := c.ask(ctx, call{
		name: "recanonicalize", method: http.MethodPost, path: "/v1/recanonicalize",
		body: body{request.Namespace, request.DryRun}, changes: !request.DryRun, repeats: request.DryRun, unbounded: true,
		read: into(func(a wire.Recanonicalization) (err error) {
			report, err = a.Recanonicalization()
			return err
		}),
	})
	if f == nil {
		if request.Progress != nil {
			request.Progress(report.Done, report.Looked)
		}
		return report, nil
	}
	if f.problem == nil || f.problem.Report == nil {
		return dibs.Recanonicalization{}, f.err
	}
	report, err := f.problem.Report.Recanonicalization()
	if err != nil {
		return dibs.Recanonicalization{}, f.err
	}
	return report, f.err
}
