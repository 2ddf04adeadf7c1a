package engine

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// schemaSetting is the only setting in an address that Dibs reads itself; the others go to pgx.
const schemaSetting = "dibs_schema"

// checkPostgres checks for common mistakes in an address, and the setting that this package reads.
// Its errors show no part of the address, which may be a part of a password.
func checkPostgres(address string) error {
	base, query, _ := strings.Cut(address, "?")
	user, password, _ := splitLogin(base)
	if _, err := url.PathUnescape(user + password); err != nil || strings.ContainsAny(user+password, "/@# ") {
		return errors.New("user and password in the store's address must not contain special characters: " +
			"write @ as %40, / as %2F, # as %23, % as %25")
	}
	if _, err := url.ParseQuery(query); err != nil {
		return errors.New("the settings after the ? in the store's address are malformed: write name=value&name=value, and % as %25")
	}
	for setting := range strings.SplitSeq(query, "&") {
		if name, value := splitSetting(setting); name == schemaSetting && value == "" {
			return fmt.Errorf("%s in the store's address is empty: give a schema, or leave it out", schemaSetting)
		}
	}
	return nil
}

// cutSchema removes dibs_schema from an address. The rest stays as it is written: pgx accepts more
// than [url.Parse], such as several hosts.
func cutSchema(address string) (dsn, schema string) {
	base, query, _ := strings.Cut(address, "?")
	var others []string
	for setting := range strings.SplitSeq(query, "&") {
		name, value := splitSetting(setting)
		switch name {
		case schemaSetting:
			schema = value
		case "":
		default:
			others = append(others, setting)
		}
	}
	if len(others) == 0 {
		return base, schema
	}
	return base + "?" + strings.Join(others, "&"), schema
}

// splitSetting decodes name=value, which [checkPostgres] has checked.
func splitSetting(setting string) (name, value string) {
	name, value, _ = strings.Cut(setting, "=")
	if plain, err := url.QueryUnescape(name); err == nil {
		name = plain
	}
	if plain, err := url.QueryUnescape(value); err == nil {
		value = plain
	}
	return name, value
}
