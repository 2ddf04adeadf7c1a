package profile

import "github.com/calldibs/dibs"

// Exact takes every value as it is, byte for byte. It is [dibs.Exact], and what a policy
// without a profile has.
var Exact = dibs.Exact
