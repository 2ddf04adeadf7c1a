// Package tlsfiles lets a server speak TLS with certificates that are kept in files, and
// follows the files when they change.
package tlsfiles

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"
)

// Clients is whether clients show certificates, too.
type Clients string

// What there is to choose from. Empty means Off.
const (
	Off      Clients = "off"      // nobody is asked for one
	Optional Clients = "optional" // who has one may show it, and it must be good
	Required Clients = "required" // nobody gets further without one
)

// AllClients returns all that there is to choose from.
func AllClients() []Clients { return []Clients{Off, Optional, Required} }

// Files says where the certificates are. The zero Files mean no TLS.
type Files struct {
	// Certificate and Key are the server's own, in PEM; the certificate first, then those
	// that lead to its authority.
	Certificate, Key string
	// ClientCA has the authorities for the certificates of clients.
	ClientCA string
	// Clients is whether they show certificates.
	Clients Clients
	// MinVersion is the least version of TLS. Zero means 1.2.
	MinVersion uint16
}

// On reports whether there is TLS at all.
func (f Files) On() bool { return f.Certificate != "" }

// asks reports whether clients are asked for certificates.
func (f Files) asks() bool { return f.Clients == Optional || f.Clients == Required }

// paths returns the files that matter.
func (f Files) paths() []string {
	paths := []string{f.Certificate, f.Key}
	if f.asks() {
		paths = append(paths, f.ClientCA)
	}
	return paths
}

// Load reads the files. What is in the key is in no error.
func (f Files) Load() (*tls.Config, error) {
	pair, err := f.pair()
	if err != nil {
		return nil, err
	}
	config := &tls.Config{
		Certificates: []tls.Certificate{pair},
		MinVersion:   max(f.MinVersion, tls.VersionTLS12),
		NextProtos:   []string{"h2", "http/1.1"},
	}
	if !f.asks() {
		return config, nil
	}
	config.ClientAuth = tls.VerifyClientCertIfGiven
	if f.Clients == Required {
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	// Who resumes a session shows no certificate anew: one whose authority was taken away
	// meanwhile must not come in that way.
	config.SessionTicketsDisabled = true
	config.ClientCAs, err = f.authorities()
	return config, err
}

func (f Files) pair() (tls.Certificate, error) {
	certificate, err := read(f.Certificate)
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := read(f.Key)
	if err != nil {
		return tls.Certificate{}, err
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("%s and %s are no certificate and its key: %w", f.Certificate, f.Key, err)
	}
	return pair, nil
}

func (f Files) authorities() (*x509.CertPool, error) {
	data, err := read(f.ClientCA)
	if err != nil {
		return nil, err
	}
	pool, some := x509.NewCertPool(), false
	for len(bytes.TrimSpace(data)) > 0 {
		block, rest := pem.Decode(data)
		if block == nil {
			break
		}
		data = rest
		if block.Type != "CERTIFICATE" {
			continue
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%s has a certificate that cannot be read: %w", f.ClientCA, err)
		}
		pool.AddCert(certificate)
		some = true
	}
	if !some {
		return nil, fmt.Errorf("%s has no certificate in it: it must be PEM", f.ClientCA)
	}
	return pool, nil
}

func read(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		err = failed.Err
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", path, err)
	}
	return data, nil
}

// stamps are what files look like from outside.
type stamps []fs.FileInfo

// stamp looks at the files. One that is not there is nil.
func (f Files) stamp() stamps {
	var all stamps
	for _, path := range f.paths() {
		info, err := os.Stat(path)
		if err != nil {
			info = nil
		}
		all = append(all, info)
	}
	return all
}

func (s stamps) same(other stamps) bool {
	return slices.EqualFunc(s, other, func(a, b fs.FileInfo) bool {
		if a == nil || b == nil {
			return a == nil && b == nil
		}
		return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
	})
}

// Ends returns when the server's certificate is over.
func Ends(config *tls.Config) time.Time { return config.Certificates[0].Leaf.NotAfter }
