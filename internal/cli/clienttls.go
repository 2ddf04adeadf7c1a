package cli

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// tls returns the TLS configuration of a target's server. Nil means the default.
func (t Target) tls() (*tls.Config, error) {
	if t.CA == "" && t.Cert == "" {
		if t.CertKey != "" {
			return nil, errors.New("--cert-key needs --cert")
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
			return nil, fmt.Errorf("--ca: %s contains no certificate: it must be PEM", t.CA)
		}
	}
	if t.Cert == "" {
		return config, nil
	}
	pair, err := tls.LoadX509KeyPair(t.Cert, cmp.Or(t.CertKey, t.Cert))
	if err != nil {
		return nil, fmt.Errorf("--cert: %w", err)
	}
	config.Certificates = []tls.Certificate{pair}
	return config, nil
}
