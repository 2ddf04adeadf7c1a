package pgproxy

import (
	"fmt"
	"regexp"
	"slices"
)

// Rule forbids statements.
type Rule struct {
	// Name is what is forbidden.
	Name string
	// Pattern matches single statements, without comments and with empty literals.
	Pattern *regexp.Regexp
	// Allowed is how many of them one transaction may have; zero means none.
	Allowed int
}

// Forbidden are the features that servers with only PostgreSQL's protocol lack, or pretend
// to have.
var Forbidden = []Rule{
	{Name: "advisory locks", Pattern: regexp.MustCompile(`(?i)\bpg_(try_)?advisory_`)},
	{Name: "sequences", Pattern: regexp.MustCompile(`(?is)\b(nextval|setval|currval|lastval)\s*\(` +
		`|^(CREATE|ALTER|DROP)\s+((TEMP|TEMPORARY|UNLOGGED)\s+)?SEQUENCE\b` +
		`|^(CREATE|ALTER)\b.*\b(SMALL|BIG)?SERIAL[248]?\b` +
		`|\bGENERATED\s+(ALWAYS|BY\s+DEFAULT)\s+AS\s+IDENTITY\b`)},
	{Name: "triggers", Pattern: regexp.MustCompile(`(?i)^(CREATE|ALTER|DROP)\s+(OR\s+REPLACE\s+)?((CONSTRAINT|EVENT)\s+)?TRIGGER\b`)},
	{Name: "functions and PL/pgSQL", Pattern: regexp.MustCompile(`(?is)^DO\b|^CREATE\s+(OR\s+REPLACE\s+)?(FUNCTION|PROCEDURE|AGGREGATE|LANGUAGE)\b`)},
	{Name: "savepoints", Pattern: regexp.MustCompile(`(?i)^SAVEPOINT\b|^RELEASE\b|` + toSavepoint.String())},
	{Name: "extensions", Pattern: regexp.MustCompile(`(?i)^(CREATE|ALTER|DROP)\s+EXTENSION\b`)},
	{Name: "table locks", Pattern: regexp.MustCompile(`(?i)^LOCK\b`)},
	{Name: "temporary tables", Pattern: regexp.MustCompile(`(?i)^CREATE\s+((GLOBAL|LOCAL)\s+)?TEMP(ORARY)?\b|\bINTO\s+((GLOBAL|LOCAL)\s+)?TEMP(ORARY)?\b`)},
	{Name: "cursors", Pattern: regexp.MustCompile(`(?i)^DECLARE\b`)},
	{
		Name:    "more than one change of the schema in a transaction",
		Pattern: regexp.MustCompile(`(?i)^(CREATE|ALTER|DROP|TRUNCATE|COMMENT|GRANT|REVOKE|REINDEX)\b`),
		Allowed: 1,
	},
}

// Forbid sets the rules; see [Forbidden]. A statement that breaks a rule fails with 0A000 as
// soon as it is prepared. The server does not get the statement, and hooks do not get its
// exchange.
func (p *Proxy) Forbid(rules []Rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = slices.Clone(rules)
}

// LimitArrays sets the largest number of elements of an array parameter in binary format;
// zero means no limit. Longer arrays are refused like forbidden statements.
func (p *Proxy) LimitArrays(elements int) { p.arrayLimit.Store(int64(elements)) }

// violation returns the first forbidden step of an exchange, and why; "" if there is none.
func (c *conn) violation() (at int, why string) {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	if c.status == statusIdle {
		clear(c.counts)
	}
	limit := int(c.p.arrayLimit.Load())
	for i, s := range c.steps {
		broken := c.broken(s)
		for _, value := range s.values {
			if n := elements(value); limit > 0 && n > limit {
				broken = fmt.Sprintf("arrays of more than %d elements (this one has %d)", limit, n)
			}
		}
		if broken != "" {
			why = fmt.Sprintf("forbidden: %s: %s", broken, s.sql)
			c.p.violations = append(c.p.violations, why)
			return i, why
		}
	}
	return 0, ""
}

// broken returns the name of the rule that a step breaks, or "". A statement that is only
// prepared is not yet part of a transaction.
func (c *conn) broken(s step) string {
	if !s.prepares && !s.executes {
		return ""
	}
	for _, piece := range pieces(s.sql) {
		for _, rule := range c.p.rules {
			if !rule.Pattern.MatchString(piece) || rule.Allowed > 0 && !s.executes {
				continue
			}
			c.counts[rule.Name]++
			if c.counts[rule.Name] > rule.Allowed {
				return rule.Name
			}
		}
		if end := endsOrBegins(piece); s.executes && (end == commits || end == rollsBack) {
			clear(c.counts)
		}
	}
	return ""
}
