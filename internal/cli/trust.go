package cli

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// tls returns how to speak to the server of a target. Nil means as by default.
func (t Target) tls() (*tls.Config, error) {
	if t.CA == "" && t.Cert == "" {
		if t.CertKey != "" {
			return nil, errors.New("--cert-key is the key of a certificate: say --cert, too")
		}
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.CA != "" {
		data, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, fmt.Errorf("--ca: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(data) {
			return nil, fmt.Errorf("--ca: %s has no certificate in it: it must be PEM", t.CA)
		}
	}
	if t.Cert == "" {
		return config, nil
	}
	key := t.CertKey
	if key == "" {
		key = t.Cert
	}
	pair, err := tls.LoadX509KeyPair(t.Cert, key)
	if err != nil {
		return nil, fmt.Errorf("--cert: %w", err)
	}
	config.Certificates = []tls.Certificate{pair}
	return config, nil
}
