package etcdstore_test

import (
	"testing"

	"github.com/calldibs/dibs/etcdstore"
)

// A DSN is refused, or has endpoints.
func FuzzParseDSN(f *testing.F) {
	f.Add("etcd://host1,host2:2379/names?timeout=2s")
	f.Add("etcd://user:p%40ss@[::1]:2379/")
	f.Add("etcd://,/?ca=")
	f.Fuzz(func(t *testing.T, dsn string) {
		cfg, err := etcdstore.ParseDSN(dsn)
		if err == nil && len(cfg.Endpoints) == 0 {
			t.Errorf("%q has no endpoints: %+v", dsn, cfg)
		}
	})
}
