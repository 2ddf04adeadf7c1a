// Package witness has witnesses that ask a service by HTTP, or a database by SQL, whether the
// entity of an expired hold exists. See [dibs.Witness] for the meaning of their verdicts.
//
// Both answer "unknown" in any doubt: if the service is down, the address is wrong, a proxy
// answers with a page of its own, or the query fails. Only a clear answer frees a name.
//
//	orders, err := witness.NewHTTP(witness.HTTPConfig{URL: "https://orders.internal/witness"})
//	…
//	defer orders.Close()
//	policy := dibs.Policy{Witness: orders.Ask}
package witness
