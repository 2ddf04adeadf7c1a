// Package webhook tells others of what happens to names, by HTTP.
//
// The feed of a registry is the outbox: an event is committed together with the change
// that it tells of, and a webhook is a place in the feed with an address. [Service] keeps
// webhooks, as documents of the registry's own store. [Courier] reads the feed for them
// and sends. Of all processes on one store one does so at a time, whoever has the lease.
//
// Every event is delivered at least once. Those of one name are delivered in order: none
// is sent before those ahead of it were accepted, or given up and put among the dead
// letters.
package webhook
