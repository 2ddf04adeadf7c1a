// Package coretest is what the tests of the rules, of the core and of the root share: a registry
// on memstore whose clock stands still, stores whose calls a test can watch, hold up or replace,
// and policies and profiles that are easy to reason about.
package coretest
