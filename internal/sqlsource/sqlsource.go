// Package sqlsource opens the database that names are imported from.
package sqlsource

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/calldibs/dibs/internal/engine"
)

// Open opens a database by its URL: postgres://…, mysql://… (MariaDB too) or sqlite:file.
func Open(source string) (*sql.DB, error) {
	switch scheme, _, _ := strings.Cut(source, ":"); scheme {
	case "postgres", "postgresql", "sqlite":
		return engine.OpenDatabase(source)
	case "mysql", "mariadb":
		config, err := mysqlConfig(source)
		if err != nil {
			return nil, err
		}
		connector, err := mysql.NewConnector(config)
		if err != nil {
			return nil, err
		}
		return sql.OpenDB(connector), nil
	default:
		return nil, errors.New("a database to import from is postgres://…, mysql://… or sqlite:file")
	}
}

// mysqlConfig converts a URL to the settings of the driver. Its query sets parameters of the driver.
func mysqlConfig(source string) (*mysql.Config, error) {
	u, err := url.Parse(source)
	if err != nil {
		return nil, errors.New("the URL of the database is not well-formed") // the error of url.Parse has the password
	}
	if u.Opaque != "" { // it would be a database on this machine
		return nil, fmt.Errorf("%s: must be followed by //, as in mysql://user@host/database", u.Scheme)
	}
	if strings.Contains(u.EscapedPath()+u.RawQuery+u.EscapedFragment(), "@") {
		return nil, errors.New("a /, ? or # before the @ of the URL must be a part of the password: write it as %2F, %3F or %23, and another @ as %40")
	}
	config := mysql.NewConfig()
	config.User = u.User.Username()
	config.Passwd, _ = u.User.Password()
	config.Net, config.Addr, config.DBName = "tcp", u.Host, strings.TrimPrefix(u.Path, "/")
	if socket := u.Query().Get("socket"); socket != "" {
		config.Net, config.Addr = "unix", socket
	}
	config.ParseTime = true
	for name, values := range u.Query() {
		switch name {
		case "socket":
		case "tls":
			config.TLSConfig = values[0]
		case "charset":
			if err := config.Apply(mysql.Charset(values[0], "")); err != nil {
				return nil, err
			}
		default:
			return nil, fmt.Errorf("the URL of the database has an unknown parameter %q: use socket, tls or charset", name)
		}
	}
	return config, nil
}
