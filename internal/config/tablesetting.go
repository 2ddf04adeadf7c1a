package config

import (
	"strconv"
	"strings"
)

// TableSetting is a setting in a table of the file, or a list at its top level.
type TableSetting struct {
	Path      string // in the file: "limits.reads"
	Env, Flag string // "DIBS_LIMITS_READS" and "limits-reads"
	Default   string // as a flag; empty means none
	About     string // the help text

	parse func(text string) (any, error) // into a value of TOML
}

// TableSettings returns the settings in tables that are single values or lists. Variables and flags
// have the name of the table before that of the setting. All other tables describe things that have
// settings of their own: policies, routes, keys and so on.
func TableSettings() []TableSetting {
	return []TableSetting{
		tableSetting("corsOrigins", asList, "", "sites whose pages may call the API, separated by commas"),

		tableSetting("tls.certificate", asText, "", "PEM file with the server's certificate"),
		tableSetting("tls.key", asText, "", "PEM file with its key"),
		tableSetting("tls.clientCA", asText, "", "PEM file with the authorities of client certificates"),
		tableSetting("tls.clientCertificates", asText, "off", "off, optional or required"),
		tableSetting("tls.minVersion", asText, "1.2", "minimum version of TLS: 1.2 or 1.3"),

		tableSetting("webhooks.enabled", asBool, "true", "whether webhooks are sent"),
		tableSetting("webhooks.timeout", asText, "10s", "how long a receiver may take to answer"),
		tableSetting("webhooks.pauses", asList, "5s,30s,2m,10m,30m,1h", "pauses after failures, separated by commas"),
		tableSetting("webhooks.giveUpAfter", asText, "3d", "how long an event may fail until it is a dead letter"),
		tableSetting("webhooks.concurrency", asCount, "4", "how many events one webhook sends at once"),
		tableSetting("webhooks.allowPrefixes", asList, "", "private networks that events may be sent to, separated by commas"),
		tableSetting("webhooks.source", asText, "urn:dibs", "source of the CloudEvents, a URI"),

		tableSetting("tracing.endpoint", asText, "", "URL of a collector of traces"),
		tableSetting("tracing.sample", asNumber, "0.01", "part of the requests that is traced, 0 to 1"),
		tableSetting("tracing.serviceName", asText, "dibs", "name of this service in traces"),
		tableSetting("tracing.headersFile", asText, "", "file with headers for the collector"),

		tableSetting("limits.reads", asText, "20000/s", "reads of one caller"),
		tableSetting("limits.writes", asText, "10000/s", "commands of one caller"),
		tableSetting("limits.checks", asText, "2000/s", "values that one caller checks"),
		tableSetting("limits.perAddress", asText, "20000/s", "requests of one address"),
		tableSetting("limits.signIn", asText, "30/m", "failures to sign in from one address"),
		tableSetting("limits.maxInFlight", asCount, "512", "requests in progress at once"),
		tableSetting("limits.maxWaiting", asCount, "10000", "requests that wait for that"),
		tableSetting("limits.maxWait", asText, "1s", "how long they wait"),
		tableSetting("limits.maxStreams", asCount, "1024", "open streams of events"),
		tableSetting("limits.callerShare", asCount, "75", "how much of these one caller may take, in percent"),
		tableSetting("limits.maxConnections", asCount, "12000", "open connections"),
		tableSetting("limits.trustedProxies", asList, "", "addresses and networks of trusted proxies, separated by commas"),
		tableSetting("limits.forwardedHeader", asText, "X-Forwarded-For", "header with the client's address"),
	}
}

func tableSetting(path string, parse func(string) (any, error), byDefault, about string) TableSetting {
	words := strings.NewReplacer("CA", "Ca", ".", "-").Replace(path)
	flag := strings.ToLower(separate(words, '-'))
	env := "DIBS_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
	return TableSetting{Path: path, Env: env, Flag: flag, Default: byDefault, About: about, parse: parse}
}

func asText(text string) (any, error) { return text, nil }

func asBool(text string) (any, error) { return parseBool(text) }

func asCount(text string) (any, error) {
	n, err := parseCount(text)
	return int64(n), err
}

func asNumber(text string) (any, error) {
	number, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, errNumber
	}
	return number, nil
}

// asList splits a list at its commas.
func asList(text string) (any, error) {
	var list []any
	for part := range strings.SplitSeq(text, ",") {
		list = append(list, strings.TrimSpace(part))
	}
	return list, nil
}

// overlayTables sets the settings in tables for which the environment or a flag has a text. They
// are read and checked like those of the file.
func (l *loader) overlayTables(environ, flags map[string]string) {
	l.given = make(map[string]origin)
	for _, s := range TableSettings() {
		text, from := environ[s.Env], origin{Setting: s.Env}
		if flag := flags[s.Flag]; flag != "" {
			text, from = flag, origin{Setting: "--" + s.Flag}
		}
		if text == "" {
			continue
		}
		value, err := s.parse(text)
		if err != nil {
			l.report(from, "%v", err)
			continue
		}
		name, key, inTable := strings.Cut(s.Path, ".")
		table, ok := l.root.values, true
		if inTable {
			table, ok = l.tableOf(name)
		} else {
			key = name
		}
		if ok { // otherwise the file has something else in its place, which is reported
			table[key], l.given[s.Path] = value, from
		}
	}
}

// tableOf returns a table of the file, made if it is missing.
func (l *loader) tableOf(name string) (table map[string]any, ok bool) {
	if l.root.values[name] == nil {
		l.root.values[name] = make(map[string]any)
	}
	table, ok = l.root.values[name].(map[string]any)
	return table, ok
}
