// Package parallel lets more tests of a package run at a time than there are processors. It
// is for tests that mostly wait: for holds to end, servers to start, commits to be written.
// They import it for that alone; the flag -parallel still wins.
package parallel

import (
	"flag"
	"runtime"
	"strconv"
	"testing"
)

func init() {
	testing.Init() // the flag has to be there before it can be set
	_ = flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0)))
}
