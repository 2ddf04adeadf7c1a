package queueing_test

import (
	"testing"

	"github.com/calldibs/dibs/internal/figures"
	"github.com/calldibs/dibs/internal/queueing"
)

// tolerance is how far the model may be off, as a factor. The machine that measures has other
// work to do now and then, and the model has none.
const tolerance = 1.75

// The model predicts the rate beside slow commits, as make bench measured it.
func TestModelAgreesWithMeasurement(t *testing.T) {
	t.Parallel()
	run, err := figures.Read("../../bench/results.json")
	if err != nil {
		t.Fatal(err)
	}
	predictions, err := queueing.Predict(run)
	if err != nil || len(predictions) < 3 {
		t.Fatalf("%v, %v", predictions, err)
	}
	for _, p := range predictions {
		t.Logf("%v: measured %.0f, predicted %.0f", p.Delay, p.Measured, p.Predicted)
		if off := p.Predicted / p.Measured; off > tolerance || off < 1/tolerance {
			t.Errorf("with commits that take %v longer: measured %.0f a second, predicted %.0f", p.Delay, p.Measured, p.Predicted)
		}
	}
}

func TestRunsThatLackPoints(t *testing.T) {
	t.Parallel()
	if _, err := queueing.Predict(figures.Run{}); err == nil {
		t.Error("nothing measured predicts something")
	}
	if _, err := queueing.CostsOf(figures.Run{}, figures.Run{}); err == nil {
		t.Error("nothing measured has costs")
	}
}

// A plan has as many parts as its tightest bound asks for.
func TestPlan(t *testing.T) {
	t.Parallel()
	costs := queueing.Costs{
		Model: queueing.Model{MaxBatch: 512, Row: 50e3, Batch: 500e3}, Name: 1000, Log: 5000, Etcd: 10_000,
	}
	for _, target := range queueing.Targets {
		need := costs.Plan(target, queueing.Usual)
		if need.Parts != max(need.ByWork, need.ByLog, need.ByNames) || need.Etcd < 1 {
			t.Errorf("%+v needs %+v", target, need)
		}
	}
	if need := costs.Plan(queueing.Target{Names: 1e9, PerSecond: 100_000}, queueing.Usual); need.ByLog != 5 || need.ByNames != 1 || need.Etcd != 257 {
		t.Errorf("a billion names need %+v", need)
	}
}
