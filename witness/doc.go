// Package witness has witnesses that ask a service by HTTP, or a database by SQL, what
// became of the entity of a hold whose time ran out. See [dibs.Witness] for what their
// verdicts mean.
//
// Both answer "unknown" whenever anything is not as it should be: a service that is down, a
// wrong address, a page of a proxy, a query that fails. Only a clear answer frees a name.
//
//	orders, err := witness.NewHTTP(witness.HTTPConfig{URL: "https://orders.internal/witness"})
//	…
//	defer orders.Close()
//	policy := dibs.Policy{Witness: orders.Ask}
package witness
