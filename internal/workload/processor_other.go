//go:build !unix

package workload

import "time"

// processorTime returns zero: the processor time is unknown.
func processorTime() time.Duration { return 0 }
