//go:build unix

package crashtest_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/calldibs/dibs/pgstore"
	"github.com/calldibs/dibs/sqlitestore"
)

// notSteps are methods of engines that no flow calls, or that ask the engine nothing.
var notSteps = []string{"Backup", "Close", "Diagnose", "Now", "Ping", "Publish", "Seek", "StartAfter", "Wake", "Writers"}

// A method that an engine gets is a step of flows, or one of those that are none: an optional interface that the
// mortal store hides would change what the registry does.
func TestEveryCallIsAStep(t *testing.T) {
	t.Parallel()
	steps := reflect.TypeFor[scrubbing]()
	for _, engine := range []reflect.Type{reflect.TypeFor[*sqlitestore.Store](), reflect.TypeFor[*pgstore.Store]()} {
		for method := range engine.Methods() {
			if _, is := steps.MethodByName(method.Name); !is && !slices.Contains(notSteps, method.Name) {
				t.Errorf("%s has the method %s, whose calls are not counted", engine, method.Name)
			}
		}
	}
}
