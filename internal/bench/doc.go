// Package bench measures what Dibs promises about speed and size: each goal beside a
// peer that does the same job by hand, in one run on one machine, in rounds that take
// turns. A ratio survives a noisy machine, an absolute figure does not.
//
// `make bench` runs it. A new goal is a function and a line in the list in goals.go.
package bench
