// Package crashtest kills programs that use a registry, at every step of what they do, and begins
// again as the documentation says.
//
// A flow is something that a program does in several calls to the engine, such as Do, a checkout or
// an import. A child process runs it on a store that counts the calls, and is killed by SIGKILL
// before or after one of them. Then the flow is begun again in another process, and everything
// must be as if the first had not been killed, or as if it had never run.
//
// How many steps a flow has is found out by a child that is not killed, so a new step is covered
// by itself. The package has tests alone.
package crashtest
