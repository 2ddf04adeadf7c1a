package sqlsource_test

import (
	"strings"
	"testing"

	"github.com/calldibs/dibs/internal/sqlsource"
)

// An address is refused or opened, which does not connect, and an error does not contain the
// password.
func FuzzOpen(f *testing.F) {
	f.Add("mysql", "user", "secret-of-the-user", "host:3306/shop?tls=skip-verify&charset=utf8mb4")
	f.Add("mariadb", "user", "secret-of-the-user", "/shop?socket=%2Ftmp%2Fmysql.sock&timeout=1x")
	f.Add("postgres", "user", "secret-of-the-user", "host/shop?sslmode=maybe")
	f.Add("sqlite", "", "", "file.db?mode=rw")
	f.Add("oracle", "user", "secret-of-the-user", "%zz")
	f.Fuzz(func(t *testing.T, scheme, user, password, rest string) {
		if scheme == "sqlite" {
			return // it has no password, and the driver opens files
		}
		db, err := sqlsource.Open(scheme + "://" + user + ":" + password + "@" + rest)
		if err != nil {
			if len(password) >= 12 && strings.Contains(err.Error(), password) && !strings.Contains(scheme+user+rest, password) {
				t.Errorf("%v contains the password %q", err, password)
			}
			return
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
}
