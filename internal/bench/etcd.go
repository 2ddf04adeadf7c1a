//go:build unix

package bench

import (
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/etcdstore"
	"github.com/calldibs/dibs/internal/etcdtest"
	"github.com/calldibs/dibs/internal/figures"
)

// etcdTxnOps is the --max-txn-ops that docs/engines.md recommends.
const etcdTxnOps = 2048

// etcdCallers is the number of callers of S9.
const etcdCallers = 1024

// reserveOnEtcd is S9: many callers reserve different names on three members that sync to
// disk. The peer claims each name with a separate transaction.
func reserveOnEtcd(l *lab) []row {
	l.Helper()
	cluster := etcdtest.Start(l, etcdtest.Options{MaxTxnOps: etcdTxnOps, Sync: true})
	ours := func(l *lab) contender {
		l.Helper()
		cfg := etcdstore.Config{Endpoints: cluster.Endpoints(), Prefix: cluster.Prefix(), Timeout: 30 * time.Second}
		store, err := etcdstore.Open(l.Context(), cfg)
		l.must(err)
		r := openRegistry(l, store, dibs.Config{}, cfg.Prefix, func() {})
		r.engine = cluster.Processes
		return r
	}
	plain := func(l *lab) contender {
		l.Helper()
		return &plainKeys{client: cluster.Client(l), prefix: cluster.Prefix(), cluster: cluster}
	}
	we, they := l.compare(ours, plain, func(c contender) reading { return l.load(c, etcdCallers, reserveFree(c)).perSecond() })
	return []row{{what: "reserve on etcd, three members, 1,024 callers", unit: figures.PerSecond, ours: we, against: plainKey, peer: they, want: atLeast(2)}}
}

// plainKeys is the minimum that gives out a name once on etcd: a key that must not exist.
// It has no history, and its holds never end.
type plainKeys struct {
	client  *clientv3.Client
	prefix  string
	cluster *etcdtest.Cluster
}

var plainKey = peer{is: "one etcd transaction a claim", lacks: "no history, no end of holds, no owner, no list by state or entity"}

func (k *plainKeys) processes() []int { return k.cluster.Processes() }

func (k *plainKeys) reserve(name string) (bool, error) {
	key := k.prefix + name
	answer, err := k.client.Txn(context.Background()).
		If(clientv3.Compare(clientv3.CreateRevision(key), "=", 0)).
		Then(clientv3.OpPut(key, `{"token":"0123456789abcdef0123456789abcdef","until":1789000000000}`)).Commit()
	return err == nil && answer.Succeeded, err
}

func (k *plainKeys) close() {} // the cluster ends with the test
