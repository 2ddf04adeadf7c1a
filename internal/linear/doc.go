// Package linear checks whether a registry is linearizable: whether all answers of
// concurrent callers are possible if the commands happen one at a time, each at some moment
// between its call and its answer.
//
// Callers run random commands on few names and record the answers (client.go,
// campaign.go), while a test injects faults into the engine. Afterwards porcupine searches
// for an order of the commands in which each answer is right by a model of a name (model.go,
// rules_*.go). The model is small, and shares only the vocabulary with the registry. A
// command whose answer never came may have happened at any time after its call, or not at
// all; one that was UNAVAILABLE must not have happened.
package linear
