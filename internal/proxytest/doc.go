// Package proxytest has the tests of docs/proxies.md: they run the page's own
// configurations with the real proxies, in front of a real server.
package proxytest
