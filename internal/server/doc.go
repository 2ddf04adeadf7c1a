// Package server speaks the API over HTTP. It knows no rule about names: it reads
// requests, finds out who asks and whether they may, and hands over to the Registry.
package server
