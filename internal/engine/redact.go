package engine

import (
	"errors"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Redacted returns an address for logs: of a PostgreSQL database user, host and
// database, of an etcd cluster user, hosts and prefix, without password and settings; any
// other as it is.
func Redacted(address string) string {
	scheme, _, _ := strings.Cut(address, ":")
	switch scheme {
	case "mem", "sqlite":
		return address
	case "postgres", "postgresql", "etcd":
		base, query, _ := strings.Cut(address, "?")
		if !strings.Contains(base, "@") && strings.Contains(query, "@") {
			return scheme + "://…" // the ? may be one in a password
		}
		user, _, rest := splitLogin(base)
		if user != "" {
			user += "@"
		}
		return scheme + "://" + user + rest
	default:
		return "(not a store's address)"
	}
}

// splitLogin takes user and password, as they are written, out of the address of a server.
// Whatever could be a part of the password is taken for one.
func splitLogin(base string) (user, password, rest string) {
	_, rest, _ = strings.Cut(base, "://")
	at := strings.LastIndexByte(rest, '@')
	if at < 0 {
		return "", "", rest
	}
	user, password, _ = strings.Cut(rest[:at], ":")
	return user, password, rest[at+1:]
}

// withoutPassword masks the password in what is wrong with an address. Other errors, such
// as those of connecting, never have it in them.
func withoutPassword(err error, address string) error {
	if _, ok := errors.AsType[*pgconn.ParseConfigError](err); !ok {
		return err
	}
	text := err.Error()
	for _, secret := range secrets(address) {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "xxxxx")
		}
	}
	return errors.New(text)
}

// secrets returns all that must not be shown of an address, as it is written and as it
// is meant.
func secrets(address string) []string {
	base, query, _ := strings.Cut(address, "?")
	_, password, _ := splitLogin(base)
	plain, _ := url.PathUnescape(password)
	found := []string{password, plain}
	for setting := range strings.SplitSeq(query, "&") {
		if name, value := splitSetting(setting); strings.Contains(name, "password") {
			_, written, _ := strings.Cut(setting, "=")
			found = append(found, written, value)
		}
	}
	return found
}
