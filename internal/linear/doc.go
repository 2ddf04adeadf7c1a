// Package linear checks whether a registry is linearizable: whether all that concurrent
// callers were told could have happened one command at a time, each at some moment
// between its call and its answer.
//
// Callers run random commands on few names and note what they are told (client.go,
// campaign.go), while a test does harm to the engine. Afterwards porcupine looks for an
// order of the commands in which each answer is right by a model of a name (model.go,
// rules_*.go). The model is small, and shares no code with the registry but its
// vocabulary. A command whose answer never came may have happened at any time after its
// call, or not at all; one that was UNAVAILABLE must not have happened.
package linear
