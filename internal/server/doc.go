// Package server serves the API over HTTP. It has no rule about names: it decodes requests,
// authenticates callers, checks their rights and limits, and calls the Registry.
package server
