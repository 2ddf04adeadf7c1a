// Package tlsfiles serves TLS with certificates from files, and reloads them when the files
// change.
package tlsfiles

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Clients is whether the server asks clients for certificates.
type Clients string

// The values of Clients. Empty means Off.
const (
	Off      Clients = "off"      // the server does not ask
	Optional Clients = "optional" // a client may show a certificate, which must be valid
	Required Clients = "required" // a client must show a valid certificate
)

// Files are the paths of the certificates. The zero Files mean no TLS.
type Files struct {
	// Certificate and Key are the files of the server's certificate and key, in PEM. The
	// certificate comes first in its file, then its intermediates.
	Certificate, Key string
	// ClientCA has the authorities of the clients' certificates, in PEM.
	ClientCA string
	Clients  Clients
	// MinVersion is the minimum version of TLS. Zero means 1.2.
	MinVersion uint16
}

// On reports whether the server uses TLS.
func (f Files) On() bool { return f.Certificate != "" }

// AsksClients reports whether the server asks clients for certificates.
func (f Files) AsksClients() bool { return f.Clients == Optional || f.Clients == Required }

// Load reads the files. Its errors contain no part of the key.
func (f Files) Load() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(f.Certificate, f.Key)
	if err != nil {
		return nil, fmt.Errorf("cannot load the certificate %s with the key %s: %w", f.Certificate, f.Key, err)
	}
	config := &tls.Config{
		Certificates: []tls.Certificate{pair},
		MinVersion:   max(f.MinVersion, tls.VersionTLS12),
		NextProtos:   []string{"h2", "http/1.1"},
	}
	if !f.AsksClients() {
		return config, nil
	}
	config.ClientAuth = tls.VerifyClientCertIfGiven
	if f.Clients == Required {
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	// A client that resumes a session shows no certificate. It could resume after its
	// authority was removed.
	config.SessionTicketsDisabled = true
	config.ClientCAs, err = f.authorities()
	return config, err
}

func (f Files) authorities() (*x509.CertPool, error) {
	data, err := os.ReadFile(f.ClientCA)
	if err != nil {
		return nil, fmt.Errorf("cannot load the authorities of clients: %w", err)
	}
	pool, some := x509.NewCertPool(), false
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%s has a certificate that cannot be parsed: %w", f.ClientCA, err)
		}
		pool.AddCert(certificate)
		some = true
	}
	if !some {
		return nil, fmt.Errorf("%s has no certificate in it: it must be PEM", f.ClientCA)
	}
	return pool, nil
}

// stamps identify the versions of files. A missing file is nil.
type stamps []fs.FileInfo

func (f Files) stamp() stamps {
	paths := []string{f.Certificate, f.Key}
	if f.AsksClients() {
		paths = append(paths, f.ClientCA)
	}
	all := make(stamps, len(paths))
	for i, path := range paths {
		if info, err := os.Stat(path); err == nil {
			all[i] = info
		}
	}
	return all
}

func (s stamps) equal(other stamps) bool {
	return slices.EqualFunc(s, other, func(a, b fs.FileInfo) bool {
		if a == nil || b == nil {
			return a == nil && b == nil
		}
		return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
	})
}

// checkEvery is how often handshakes check the files for changes.
const checkEvery = time.Second

// Reloader serves the certificates in files, and reloads them when the files change. It is
// safe for concurrent use. Make one with [Open].
//
// A handshake notices changed files if the last check is a second old or more. Open
// connections are not affected.
type Reloader struct {
	files  Files
	log    *slog.Logger
	now    func() time.Time
	config atomic.Pointer[tls.Config]

	mu      sync.Mutex // held while files are checked or read
	seen    stamps     // of the files when they were last read, valid or not
	checked time.Time
}

// Open reads the files for the first time.
func Open(files Files, log *slog.Logger) (*Reloader, error) {
	r := &Reloader{files: files, log: log, now: time.Now, seen: files.stamp(), checked: time.Now()}
	config, err := files.Load()
	r.config.Store(config)
	return r, err
}

// Config returns the TLS configuration of a listener. It follows the files.
func (r *Reloader) Config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2", "http/1.1"},
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			r.check()
			return r.config.Load(), nil
		},
	}
}

// check reloads changed files. Meanwhile other handshakes use the previous certificates.
func (r *Reloader) check() {
	if !r.mu.TryLock() {
		return
	}
	defer r.mu.Unlock()
	if r.now().Sub(r.checked) < checkEvery {
		return
	}
	r.checked = r.now()
	if stamp := r.files.stamp(); !stamp.equal(r.seen) {
		r.reload(stamp)
	}
}

// Reload reads the files again. If they are not valid, it logs the error and keeps the
// previous certificates: certificate and key are often written one after the other.
func (r *Reloader) Reload() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reload(r.files.stamp())
}

// reload reads the files. The stamp was taken before, so the next check notices changes during
// the read.
func (r *Reloader) reload(stamp stamps) {
	r.seen = stamp
	config, err := r.files.Load()
	if err != nil {
		r.log.Error("reload failed; the previous certificates stay in use", "error", err)
		return
	}
	r.config.Store(config)
	r.log.Info("certificates reloaded", "until", config.Certificates[0].Leaf.NotAfter.UTC().Format(time.RFC3339))
}
