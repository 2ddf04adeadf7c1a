package config

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/calldibs/dibs/internal/spelling"
)

// clientVariables are variables of commands that call a server.
var clientVariables = []string{"DIBS_SERVER", "DIBS_KEY", "DIBS_KEY_FILE", "DIBS_CA", "DIBS_CERT", "DIBS_CERT_KEY"}

// othersVariables are set by platforms and by tests: Kubernetes sets some for each service whose
// name begins with dibs, a port of which is a URL.
var (
	othersVariables = regexp.MustCompile(`^DIBS_(TEST_.*|.*_CHILD|BINARY|TOKEN|DEMO_CUSTOMER|EXAMPLES_REMOTE|` +
		`(.*_)?SERVICE_(HOST|PORT)(_.*)?|(.*_)?PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$`)
	portOfService = regexp.MustCompile(`^DIBS_(.*_)?PORT$`)
)

// knownVariables returns the names of all variables that server and command line read.
func knownVariables() []string {
	known := append([]string{"DIBS_CONFIG", "DIBS_STORE_FILE", blindKeysVariable, blindKeysVariable + "_FILE"}, clientVariables...)
	for _, s := range Settings() {
		known = append(known, s.Env)
	}
	for _, s := range TableSettings() {
		known = append(known, s.Env)
	}
	return known
}

// UnknownVariables returns a line for each variable DIBS_… that nothing reads, with the one that it
// was probably meant to be. Named are variables that the configuration names, such as secretEnv.
func UnknownVariables(environ map[string]string, named ...string) (lines []string) {
	known := knownVariables()
	for _, name := range slices.Sorted(maps.Keys(environ)) {
		value := environ[name]
		switch {
		case !strings.HasPrefix(name, "DIBS_") || value == "":
		case slices.Contains(known, name) || slices.Contains(named, name) || othersVariables.MatchString(name):
		case portOfService.MatchString(name) && strings.Contains(value, "://"):
		default:
			lines = append(lines, name+": unknown variable"+spelling.Hint(name, known))
		}
	}
	return lines
}
