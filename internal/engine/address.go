package engine

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/calldibs/dibs/etcdstore"
)

// known lists the addresses, for errors.
const known = "sqlite:names.db, postgres://user@host/database, etcd://host1,host2,host3/prefix or mem:"

// Check returns an error if an address is malformed. It opens nothing.
func Check(address string) error {
	scheme, rest, found := strings.Cut(address, ":")
	if !found {
		// The address is not shown: it may be a connection string with a password.
		return fmt.Errorf("a store's address begins with the engine: %s", known)
	}
	switch scheme {
	case "mem":
		if rest != "" {
			return errors.New(`mem: takes no name: write "mem:"`)
		}
		return nil
	case "sqlite":
		return checkFile(rest)
	case "postgres", "postgresql":
		if !strings.HasPrefix(rest, "//") {
			return fmt.Errorf("%s: must be followed by //, as in postgres://user@host/database", scheme)
		}
		return checkPostgres(address)
	case "etcd":
		_, err := etcdstore.ParseDSN(address)
		return err
	default:
		return fmt.Errorf("unknown engine %q: use %s", shorten(scheme), known)
	}
}

// checkFile refuses addresses that other programs accept for an SQLite database, and that would
// name an unintended file here.
func checkFile(path string) error {
	switch {
	case path == "":
		return errors.New(`sqlite: needs the path of a file, as in "sqlite:names.db"`)
	case strings.HasPrefix(path, ":memory:"):
		return errors.New(`SQLite in memory is not supported: use "mem:", which is lost with the process as well`)
	case strings.Contains(path, "?"):
		return errors.New(`sqlite: takes no options: write the path of the file only, as in "sqlite:names.db"`)
	case strings.HasPrefix(path, "//") && !strings.HasPrefix(path, "///"):
		return errors.New(`write "sqlite:names.db" for a file in this folder and "sqlite:/var/lib/names.db" for any other`)
	}
	return nil
}

// shorten truncates an overlong name of an engine.
func shorten(scheme string) string {
	const most = 16
	if len(scheme) <= most {
		return scheme
	}
	return strings.ToValidUTF8(scheme[:most], "") + "…"
}

// CheckDatabase returns an error if OpenDatabase cannot use an address.
func CheckDatabase(address string) error {
	scheme, _, _ := strings.Cut(address, ":")
	if scheme == "mem" || scheme == "etcd" {
		return fmt.Errorf("%s: is not an SQL database: use sqlite:orders.db or postgres://user@host/database", scheme)
	}
	return Check(address)
}

// The settings in an address that Dibs reads itself; the others go to pgx.
const (
	schemaSetting  = "dibs_schema"
	poolingSetting = "dibs_pooling"
)

var errSpecial = errors.New("user and password in the store's address must not contain special characters: " +
	"write @ as %40, / as %2F, ? as %3F, # as %23, % as %25")

// checkPostgres checks for common mistakes in an address, and the settings that this package reads.
// Its errors show no part of the address, which may be a part of a password.
func checkPostgres(address string) error {
	base, query, _ := strings.Cut(address, "?")
	user, password, rest := splitLogin(base)
	if hasOddPort(rest) {
		return errors.New("the port in the store's address is not a number: behind a user and a password comes @ and the host")
	}
	if _, err := url.PathUnescape(user + password); err != nil || strings.ContainsAny(user+password, "/@# ") {
		return errSpecial
	}
	settings, err := url.ParseQuery(query)
	if err != nil {
		return errors.New("the settings after the ? in the store's address are malformed: write name=value&name=value, and % as %25")
	}
	for name := range settings {
		if strings.Contains(name, "@") {
			return errSpecial // the ? is a part of the password
		}
	}
	if slices.Contains(settings[schemaSetting], "") {
		return fmt.Errorf("%s in the store's address is empty: give a schema, or leave it out", schemaSetting)
	}
	for _, mode := range settings[poolingSetting] {
		if mode != "transaction" && mode != "session" {
			return fmt.Errorf("%s in the store's address must be transaction or session", poolingSetting)
		}
	}
	return nil
}

// cutSettings removes the settings from an address that Dibs reads itself. The rest stays as it is
// written: pgx accepts more than [url.Parse], such as several hosts.
func cutSettings(address string) (dsn string, own map[string]string) {
	base, query, _ := strings.Cut(address, "?")
	own = make(map[string]string)
	others := slices.DeleteFunc(strings.Split(query, "&"), func(setting string) bool {
		name, value := splitSetting(setting)
		isOwn := name == schemaSetting || name == poolingSetting
		if isOwn {
			own[name] = value
		}
		return isOwn || name == ""
	})
	if len(others) == 0 {
		return base, own
	}
	return base + "?" + strings.Join(others, "&"), own
}

// splitSetting decodes name=value, which [checkPostgres] has checked.
func splitSetting(setting string) (name, value string) {
	name, value, _ = strings.Cut(setting, "=")
	name, _ = url.QueryUnescape(name)
	value, _ = url.QueryUnescape(value)
	return name, value
}

// notAnAddress is shown in place of what may have a password anywhere.
const notAnAddress = "(not a store's address)"

// Redacted returns an address for people and logs: without its password, and otherwise as it is
// written, so that it leads to the same store. Text that may be a part of a password becomes "…",
// with which no store can be opened.
func Redacted(address string) string {
	scheme, _, _ := strings.Cut(address, ":")
	switch scheme {
	case "sqlite":
		return address
	case "mem":
		if Check(address) == nil {
			return address
		}
		return notAnAddress
	case "postgres", "postgresql", "etcd":
		base, query, _ := strings.Cut(address, "?")
		if !strings.Contains(base, "@") && strings.Contains(query, "@") {
			return scheme + "://…" // the ? may be a part of a password
		}
		user, _, rest := splitLogin(base)
		if hasOddPort(rest) {
			return scheme + "://…"
		}
		if user != "" {
			user += "@"
		}
		return scheme + "://" + user + rest + publicSettings(query)
	default:
		return notAnAddress
	}
}

// publicSettings returns the settings of an address that are no secrets, with the ? before them.
func publicSettings(query string) string {
	if strings.Contains(query, "@") {
		return "?…" // the ? may be a part of a password
	}
	public := slices.DeleteFunc(strings.Split(query, "&"), func(setting string) bool {
		name, _ := splitSetting(setting)
		return setting == "" || isSecret(name)
	})
	if len(public) == 0 {
		return ""
	}
	return "?" + strings.Join(public, "&")
}

// isSecret reports whether a setting of an address is a password.
func isSecret(name string) bool { return strings.Contains(strings.ToLower(name), "password") }

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

// hasOddPort reports whether a host in the rest of an address has a port that is not a number: it may be the password
// of a login without a host.
func hasOddPort(rest string) bool {
	hosts, _, _ := strings.Cut(rest, "/")
	for host := range strings.SplitSeq(hosts, ",") {
		host = host[strings.LastIndexByte(host, ']')+1:] // an IPv6 address has colons of its own
		if _, port, _ := strings.Cut(host, ":"); strings.Trim(port, "0123456789") != "" {
			return true
		}
	}
	return false
}

// withoutPassword masks the password in an error about an address. Other errors, such as those of
// connecting, never contain it.
func withoutPassword(err error, address string) error {
	if _, ok := errors.AsType[*pgconn.ParseConfigError](err); !ok {
		return err
	}
	if _, query, _ := strings.Cut(address, "?"); strings.Contains(query, "@") {
		return errSpecial // the ? may be a part of the password
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
		if name, value := splitSetting(setting); isSecret(name) {
			_, written, _ := strings.Cut(setting, "=")
			found = append(found, written, value)
		}
	}
	return found
}
