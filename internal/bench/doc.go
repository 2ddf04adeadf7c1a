// Package bench measures what Dibs promises about speed and size: each goal together with
// a peer that does the same job without Dibs, in one run on one machine, in alternating
// rounds. A ratio is stable on a noisy machine, an absolute figure is not.
//
// `make bench` runs it. A new goal is a function and a line in the list in goals.go.
package bench
