package authtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority issues certificates.
type Authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	// PEM is its own certificate.
	PEM []byte
}

// Pair is a certificate and its key, in PEM.
type Pair struct{ Certificate, Key []byte }

// NewAuthority returns a new authority. All have the same name, so that clients show the
// certificates of one to servers that trust another.
func NewAuthority(tb testing.TB) *Authority {
	tb.Helper()
	key := newECKey(tb)
	template := &x509.Certificate{
		SerialNumber: serial(tb), Subject: pkix.Name{CommonName: "test authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		tb.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		tb.Fatal(err)
	}
	return &Authority{certificate, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

// Pool returns a pool with only this authority.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

// Server issues a certificate for a server on this machine.
func (a *Authority) Server(tb testing.TB, commonName string) Pair {
	tb.Helper()
	return a.issue(tb, &x509.Certificate{
		Subject: pkix.Name{CommonName: commonName}, DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
}

// Client issues a certificate for a client. An empty dns or uri is left out.
func (a *Authority) Client(tb testing.TB, commonName, dns, uri string, end time.Time) Pair {
	tb.Helper()
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: commonName, Organization: []string{"Example"}}, NotAfter: end,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if dns != "" {
		template.DNSNames = []string{dns}
	}
	if uri != "" {
		u, err := url.Parse(uri)
		if err != nil {
			tb.Fatal(err)
		}
		template.URIs = []*url.URL{u}
	}
	return a.issue(tb, template)
}

func (a *Authority) issue(tb testing.TB, template *x509.Certificate) Pair {
	tb.Helper()
	key := newECKey(tb)
	template.SerialNumber, template.NotBefore, template.KeyUsage = serial(tb), time.Now().Add(-2*time.Hour), x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		tb.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		tb.Fatal(err)
	}
	return Pair{
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}),
	}
}

// TLS returns the pair for a connection.
func (p Pair) TLS(tb testing.TB) tls.Certificate {
	tb.Helper()
	certificate, err := tls.X509KeyPair(p.Certificate, p.Key)
	if err != nil {
		tb.Fatal(err)
	}
	return certificate
}

// X509 returns the certificate.
func (p Pair) X509(tb testing.TB) *x509.Certificate {
	tb.Helper()
	return p.TLS(tb).Leaf
}

// Write writes the pair to the files name.crt and name.key in a folder, each replaced
// atomically, and returns their paths.
func (p Pair) Write(tb testing.TB, folder, name string) (certificate, key string) {
	tb.Helper()
	certificate, key = filepath.Join(folder, name+".crt"), filepath.Join(folder, name+".key")
	WriteFile(tb, key, p.Key)
	WriteFile(tb, certificate, p.Certificate)
	return certificate, key
}

// WriteFile replaces a file atomically.
func WriteFile(tb testing.TB, path string, data []byte) {
	tb.Helper()
	if err := os.WriteFile(path+".new", data, 0o600); err != nil {
		tb.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		tb.Fatal(err)
	}
}

func newECKey(tb testing.TB) *ecdsa.PrivateKey {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

func serial(tb testing.TB) *big.Int {
	tb.Helper()
	number, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 100))
	if err != nil {
		tb.Fatal(err)
	}
	return number
}
