package dibsclient

import (
	"context"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
)

// Sweep ends what is due. It is repeatable: a second sweep does no harm.
func (c *client) Sweep(ctx context.Context, limit int) (dibs.SweepReport, error) {
	type body struct {
		Limit int `json:"limit"`
	}
	do := post("sweep", "/v1/sweep", body{limit})
	do.unbounded = true
	return fetch(ctx, c, do, func(w wire.SweepReport) (dibs.SweepReport, error) { return w.SweepReport(), nil })
}

// operate describes a change without a time limit. Only its dry run is repeatable.
func operate(name, path string, body any, dryRun bool) call {
	do := post(name, path, body)
	do.changes, do.repeatable, do.unbounded = !dryRun, dryRun, true
	return do
}

// Recanonicalize applies the present rules of a namespace to its names. If names prevent
// that, it returns the report together with the error.
func (c *client) Recanonicalize(ctx context.Context, request dibs.RecanonicalizeRequest) (dibs.Recanonicalization, error) {
	type body struct {
		Namespace string `json:"namespace"`
		DryRun    bool   `json:"dryRun,omitempty"`
	}
	var report dibs.Recanonicalization
	do := operate("recanonicalize", "/v1/recanonicalize", body{request.Namespace, request.DryRun}, request.DryRun)
	do.decode = into(&report, wire.Recanonicalization.Recanonicalization)
	if f := c.run(ctx, do); f != nil {
		if f.problem != nil && f.problem.Report != nil {
			if report, err := f.problem.Report.Recanonicalization(); err == nil {
				return report, f.err
			}
		}
		return dibs.Recanonicalization{}, f.err
	}
	if request.Progress != nil {
		request.Progress(report.Done, report.Looked)
	}
	return report, nil
}

// Forget erases an entity or a name. A second attempt would do no harm, but its report
// would not contain what the first one erased: so it is not repeatable.
func (c *client) Forget(ctx context.Context, request dibs.ForgetRequest) (dibs.Forgetting, error) {
	do := operate("forget", "/v1/forget", wire.ForgetRequestOf(request), request.DryRun)
	return fetch(ctx, c, do, wire.Forgetting.Forgetting)
}
