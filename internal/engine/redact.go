package engine

import (
	"errors"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Redacted returns an address for logs, without password and settings: of PostgreSQL the user, host
// and database, of etcd the user, hosts and prefix, and any other address as it is.
func Redacted(address string) string {
	scheme, _, _ := strings.Cut(address, ":")
	switch scheme {
	case "mem", "sqlite":
		return address
	case "postgres", "postgresql", "etcd":
		base, query, _ := strings.Cut(address, "?")
		if !strings.Contains(base, "@") && strings.Contains(query, "@") {
			return scheme + "://…" // the ? may be a part of a password
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

// splitLogin returns user and password of an address as they are written, and the rest. The last @
// ends the password: an unescaped @ may be a part of it.
func splitLogin(base string) (user, password, rest string) {
	_, rest, _ = strings.Cut(base, "://")
	at := strings.LastIndexByte(rest, '@')
	if at < 0 {
		return "", "", rest
	}
	user, password, _ = strings.Cut(rest[:at], ":")
	return user, password, rest[at+1:]
}

// withoutPassword masks the password in an error about an address. Other errors, such as those of
// connecting, never contain it.
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

// secrets returns the secrets of an address, as they are written and decoded.
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
