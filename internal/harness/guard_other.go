//go:build !unix

package harness

// GuardProcess does nothing on this system.
func GuardProcess(int) (forget func()) { return func() {} }

// GuardMount does nothing on this system.
func GuardMount(string) (forget func()) { return func() {} }

// GuardFolder does nothing on this system.
func GuardFolder(string) (forget func()) { return func() {} }
