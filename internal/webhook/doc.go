// Package webhook delivers the events of a registry by HTTP.
//
// The feed of a registry is the outbox: an event is committed together with the change
// that it describes, and a webhook is a URL with a cursor into the feed. [Service] stores
// webhooks as documents in the registry's own store. [Service.Deliver] reads the feed for them
// and sends. Of all processes on one store, only the holder of the lease sends.
//
// Every event is delivered at least once. The events of one name are delivered in order:
// none is sent before the earlier ones were accepted or became dead letters.
package webhook
