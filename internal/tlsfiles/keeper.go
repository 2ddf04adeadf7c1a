package tlsfiles

import (
	"crypto/tls"
	"log/slog"
	"sync"
	"time"
)

// lookEvery is how often files are looked at, if there are handshakes.
const lookEvery = time.Second

// Keeper has the certificates as they are now. It is safe for concurrent use. Make one
// with [Open].
//
// Files that have changed are noticed by a handshake that comes a second or more after the
// last look. Connections that stand go on as they are.
type Keeper struct {
	files Files
	log   *slog.Logger
	now   func() time.Time

	mu      sync.Mutex
	config  *tls.Config
	seen    stamps // of the files when they were last read, good or not
	looked  time.Time
	ticking bool // somebody looks
}

// Open reads the files for the first time.
func Open(files Files, log *slog.Logger) (*Keeper, error) {
	k := &Keeper{files: files, log: log, now: time.Now, seen: files.stamp()}
	config, err := files.Load()
	k.config, k.looked = config, k.now()
	return k, err
}

// Config returns the settings for a listener. They follow the files.
func (k *Keeper) Config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2", "http/1.1"},
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			if k.due() {
				k.look()
			}
			return k.current(), nil
		},
	}
}

func (k *Keeper) current() *tls.Config {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.config
}

// due reports whether it is time to look at the files, to one caller alone.
func (k *Keeper) due() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ticking || k.now().Sub(k.looked) < lookEvery {
		return false
	}
	k.ticking = true
	return true
}

// look reads the files again if they have changed.
func (k *Keeper) look() {
	stamp := k.files.stamp()
	k.mu.Lock()
	changed := !stamp.same(k.seen)
	k.looked, k.ticking = k.now(), false
	k.mu.Unlock()
	if changed {
		k.Reload()
	}
}

// Reload reads the files again. If anything is wrong with them, it is logged, and the
// certificates stay as they were: a pair is often written one file after the other.
func (k *Keeper) Reload() {
	stamp := k.files.stamp() // before: what changes meanwhile is noticed next time
	config, err := k.files.Load()
	k.mu.Lock()
	k.seen = stamp
	if err == nil {
		k.config = config
	}
	k.mu.Unlock()
	if err != nil {
		k.log.Error("the certificates were not read anew: those from before stay in use", "error", err)
		return
	}
	k.log.Info("the certificates were read anew", "until", Ends(config).UTC().Format(time.RFC3339))
}
