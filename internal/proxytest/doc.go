// Package proxytest tests docs/proxies.md: it runs the page's own configurations with the
// real proxies, in front of a real server.
package proxytest
