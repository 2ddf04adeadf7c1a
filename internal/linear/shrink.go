package linear

import (
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// mostShrinking is how long each check of a shorter history may take.
const mostShrinking = 5 * time.Second

// shrink returns the shortest history it finds that still shows a violation. Each step keeps
// the meaning: if the shorter history is impossible, so is the longer one.
func (h *history) shrink(operations []porcupine.Operation) []porcupine.Operation {
	illegal := func(operations []porcupine.Operation) bool {
		return porcupine.CheckOperationsTimeout(model(h.apart, h.quarantine), operations, mostShrinking) == porcupine.Illegal
	}
	if shorter := apartFrom(operations); h.apart && len(shorter) > 0 {
		for _, part := range shorter {
			if illegal(part) {
				operations = part
				break
			}
		}
	}
	operations = shortestPrefix(operations, illegal)
	for _, keep := range unconnected(operations) {
		if illegal(keep) {
			operations = keep
			break
		}
	}
	return withoutWitnesses(operations, illegal)
}

// apartFrom splits a history by names.
func apartFrom(operations []porcupine.Operation) [][]porcupine.Operation {
	return slices.DeleteFunc(byName(operations), func(part []porcupine.Operation) bool { return len(part) == 0 })
}

// shortestPrefix cuts a history off after the answer that makes it impossible. What was not
// answered by then may have happened or not.
func shortestPrefix(operations []porcupine.Operation, illegal func([]porcupine.Operation) bool) []porcupine.Operation {
	var answers []int64
	for _, operation := range operations {
		if !operation.Output.(Answer).Lost {
			answers = append(answers, operation.Return)
		}
	}
	slices.Sort(answers)
	// A prefix of a possible history is possible: so this is a binary search.
	first, last := 0, len(answers)-1
	for first < last {
		middle := (first + last) / 2
		if illegal(until(operations, answers[middle])) {
			last = middle
		} else {
			first = middle + 1
		}
	}
	if len(answers) == 0 {
		return operations
	}
	if shorter := until(operations, answers[first]); illegal(shorter) {
		return shorter
	}
	return operations
}

// until is a history as it was at a moment.
func until(operations []porcupine.Operation, moment int64) (prefix []porcupine.Operation) {
	for _, operation := range operations {
		if operation.Call > moment {
			continue
		}
		if operation.Return > moment {
			if operation.Input.(Op).Verb.reads() {
				continue // it has no effect
			}
			operation.Output, operation.Return = Answer{Lost: true}, moment+1
		}
		prefix = append(prefix, operation)
	}
	return prefix
}

// unconnected returns the parts of a history that share no name and no entity.
func unconnected(operations []porcupine.Operation) (parts [][]porcupine.Operation) {
	// The group of each name, and after them of each entity.
	group := make([]int, maxNames+maxEntities+2)
	for i := range group {
		group[i] = i
	}
	things := func(o Op) (all []int) {
		for _, i := range []int{o.Name, o.Other} {
			if i != 0 {
				all = append(all, i)
			}
		}
		for _, i := range []int{o.Entity, o.To} {
			if i != 0 {
				all = append(all, maxNames+1+i)
			}
		}
		return all
	}
	for _, operation := range operations {
		all := things(operation.Input.(Op))
		for _, other := range all[1:] {
			from, to := group[other], group[all[0]]
			for i := range group {
				if group[i] == from {
					group[i] = to
				}
			}
		}
	}
	byGroup := make([][]porcupine.Operation, len(group))
	for _, operation := range operations {
		g := group[things(operation.Input.(Op))[0]]
		byGroup[g] = append(byGroup[g], operation)
	}
	return slices.DeleteFunc(byGroup, func(part []porcupine.Operation) bool { return len(part) == 0 })
}

// withoutWitnesses leaves out operations that change nothing, reads and refusals, as long as
// the rest is impossible without their answers.
func withoutWitnesses(operations []porcupine.Operation, illegal func([]porcupine.Operation) bool) []porcupine.Operation {
	for i := 0; i < len(operations); {
		o, a := operations[i].Input.(Op), operations[i].Output.(Answer)
		changesNothing := o.Verb.reads() || !a.Lost && (a.Code != "" || a.Replayed)
		shorter := slices.Delete(slices.Clone(operations), i, i+1)
		if changesNothing && illegal(shorter) {
			operations = shorter
			continue
		}
		i++
	}
	return operations
}
