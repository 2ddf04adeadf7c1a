// Package dibsimport brings the names of another system into a registry.
//
// A [Source] reads rows: a CSV or TSV file, JSON Lines, or the result of a query. A [Mapping] says
// which columns are the name, its owner and its dates. [Run] enters the rows in the order of the
// source, so of two that collide the first gets the name, each time. It can be stopped at any
// moment and begun again: a name that its owner has already is left as it is. [Plan] says what Run
// would do, and changes nothing.
package dibsimport
