package main

import (
	"fmt"

	"github.com/calldibs/dibs/internal/figures"
	"github.com/calldibs/dibs/internal/queueing"
)

// modelTable compares the model with what was measured.
func modelTable(speed figures.Run) (string, error) {
	predictions, err := queueing.Predict(speed)
	if err != nil {
		return "", err
	}
	t := new(table)
	t.head("added to each commit", "measured", "model", "model / measured")
	for _, p := range predictions {
		t.row(p.Delay.String(), figures.PerSecond.Format(p.Measured), figures.PerSecond.Format(p.Predicted), fmt.Sprintf("%.2f", p.Predicted/p.Measured))
	}
	return t.String(), nil
}

// planTable says what each target needs.
func planTable(speed, growth figures.Run) (string, error) {
	costs, err := queueing.CostsOf(speed, growth)
	if err != nil {
		return "", err
	}
	m := queueing.Usual
	t := new(table)
	t.head("names", "reservations a second", "parts for the work", "parts for the log", "parts for the names",
		"**PostgreSQL, parts**", "cores of the parts, with standbys", "disk of all names", "etcd, clusters of three")
	for _, target := range queueing.Targets {
		need := costs.Plan(target, m)
		t.row(figures.Thousands(target.Names), figures.Thousands(target.PerSecond), fmt.Sprint(need.ByWork), fmt.Sprint(need.ByLog), fmt.Sprint(need.ByNames),
			fmt.Sprintf("**%d**", need.Parts), fmt.Sprint(2*m.Cores*need.Parts), figures.Thousands(target.Names*costs.Name/1e9)+" GB", figures.Thousands(float64(need.Etcd)))
	}
	return t.String(), nil
}

// costTable has the measured figures on which the plan rests.
func costTable(speed, growth figures.Run) (string, error) {
	costs, err := queueing.CostsOf(speed, growth)
	if err != nil {
		return "", err
	}
	t := new(table)
	t.head("measured", "")
	t.row("processor for each reservation in a large batch, program and PostgreSQL together", figures.Micros(float64(costs.Model.Row.Nanoseconds())/1000))
	t.row("processor for each batch, whatever its size", figures.Micros(float64(costs.Model.Batch.Nanoseconds())/1000))
	t.row("write-ahead log for each reservation, at "+figures.Thousands(float64(growth.Names))+" names", figures.Bytes.Format(costs.Log))
	t.row("disk for each confirmed name, with its events and indexes", figures.Bytes.Format(costs.Name))
	t.row("reservations a second on three etcd members, all on the machine that was measured", figures.PerSecond.Format(costs.Etcd))
	t.row("so one part of 16 cores commits, by the model and the assumptions below", figures.PerSecond.Format(costs.PartRate(queueing.Usual)))
	return t.String(), nil
}
