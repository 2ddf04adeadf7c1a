package tlsfiles

import (
	"crypto/tls"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

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
