package etcdstore_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs/etcdstore"
)

func TestParseDSN(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]etcdstore.Config{
		"etcd://h":           {Endpoints: []string{"h:2379"}},
		"etcd://h:1,i:2,j/":  {Endpoints: []string{"h:1", "i:2", "j:2379"}},
		"etcd://[::1]:1":     {Endpoints: []string{"[::1]:1"}},
		"etcd://[::1]":       {Endpoints: []string{"[::1]:2379"}},
		"etcd://h/names":     {Endpoints: []string{"h:2379"}, Prefix: "names/"},
		"etcd://h/a/b%2f/":   {Endpoints: []string{"h:2379"}, Prefix: "a/b//"},
		"etcd://u:p%40:@h/n": {Endpoints: []string{"h:2379"}, Prefix: "n/", Username: "u", Password: "p@:"},
		"etcd://h?max_skew=1s&timeout=2s&max_txn_ops=512": {
			Endpoints: []string{"h:2379"}, MaxSkew: time.Second, Timeout: 2 * time.Second, MaxTxnOps: 512,
		},
	} {
		if got, err := etcdstore.ParseDSN(dsn); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v, want %+v", dsn, got, err, want)
		}
	}
	if cfg, err := etcdstore.ParseDSN("etcd://h?tls=true"); err != nil || cfg.TLS == nil {
		t.Errorf("tls=true: %+v, %v", cfg, err)
	}
}

func TestParseDSNRefuses(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]string{
		"h:2379":                     "begins with etcd://",
		"etcd://":                    "write host1:2379",
		"etcd://h,":                  "write host1:2379",
		"etcd://h:port":              "write host1:2379",
		"etcd://h:99999":             "write host1:2379",
		"etcd://:hunter2@h":          "write @ as %40",
		"etcd://u:hunter2/@h":        "/ as %2F",
		"etcd://u:hunter2%zz@h":      "% as %25",
		"etcd://u:x?hunter2@h":       "write host1:2379",
		"etcd://u:1?hunter2@h":       "? in a password as %3F",
		"etcd://h?hunter2=1":         "etcd:// has cacert",
		"etcd://h?timeout=soon":      "timeout in the store's address",
		"etcd://h?max_skew=%zz":      "write name=value",
		"etcd://h?cert=a.pem":        "give both files",
		"etcd://h?cacert=/no/such":   "cacert",
		"etcd://h?cert=/no&key=/no2": "cert and key",
	} {
		_, err := etcdstore.ParseDSN(dsn)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", dsn, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "hunter") {
			t.Errorf("%s: the error contains the password: %v", dsn, err)
		}
	}
}
