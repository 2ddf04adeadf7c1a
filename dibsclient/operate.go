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

// Forget erases a person, or a name. Asking twice does no harm, but then nobody learns what
// was erased: an answer that got lost is not asked for again.
func (c *client) Forget(ctx context.Context, request dibs.ForgetRequest) (report dibs.Forgetting, err error) {
	err = c.do(ctx, call{
		name: "forget", method: http.MethodPost, path: "/v1/forget",
		body: wire.ForgetRequestOf(request), changes: !request.DryRun, repeats: request.DryRun, unbounded: true,
		read: into(func(a wire.Forgetting) (err error) {
			report, err = a.Forgetting()
			return err
		}),
	})
	return report, err
}
