// Package witness has witnesses that ask a service by HTTP, or a database by SQL, whether the
// entity of an expired hold exists. See [dibs.Witness] for the meaning of their verdicts.
//
// Both answer "unknown" in any doubt: if the service is down, the address is wrong, a proxy
// answers instead of the service, or the query fails. Only the answer "absent" frees a name.
//
//	orders, err := witness.NewHTTP(witness.HTTPConfig{URL: "https://orders.internal/witness"})
//	…
//	defer orders.Close()
//	policy := dibs.Policy{Witness: orders.Ask}
package witness
