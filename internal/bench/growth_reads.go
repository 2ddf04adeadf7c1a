//go:build unix

package bench

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"github.com/calldibs/dibs/internal/figures"
	"github.com/calldibs/dibs/internal/workload"
)

// read is a read of the API.
type read struct {
	what string
	path func(names int) string
	most float64 // seconds, p99
}

const (
	readMost  = 0.050
	statsMost = 0.005
)

// someName returns a random name of the load.
func someName(names int) string { return workload.LoadedName(rand.IntN(names)) }

// fixed is a path that does not depend on a name; of is one of a name's.
func fixed(path string) func(int) string { return func(int) string { return path } }

func of(before, after string) func(int) string {
	return func(names int) string { return before + someName(names) + after }
}

// reads are all kinds of reads.
var reads = []read{
	{"stats", fixed("/v1/stats"), statsMost},
	{"conflicts", fixed("/v1/stats/conflicts"), readMost},
	{"list of a namespace", fixed("/v1/names?namespace=" + namespace), readMost},
	{"list by prefix", func(names int) string {
		return "/v1/names?namespace=" + namespace + "&prefix=" + someName(names)[:len("name-00")]
	}, readMost},
	{"list by prefix, all namespaces", func(names int) string { return "/v1/names?prefix=" + someName(names)[:len("name-00")] }, readMost},
	{"list of held names", fixed("/v1/names?state=held"), readMost},
	{"list of suspects", fixed("/v1/names?state=suspect"), readMost},
	{"list of aliases", fixed("/v1/names?state=alias"), readMost},
	{"list of quarantined names", fixed("/v1/names?state=quarantined"), readMost},
	{"list of active names", fixed("/v1/names?state=active"), readMost},
	{"list of quarantined names of a namespace", fixed("/v1/names?state=quarantined&namespace=" + namespace), readMost},
	{"get", of("/v1/names/"+namespace+"/", ""), readMost},
	{"history", of("/v1/names/"+namespace+"/", "/history?limit=100"), readMost},
	{"who held it", func(names int) string {
		return "/v1/names/" + namespace + "/" + someName(names) + "/history?at=" + url.QueryEscape(time.Now().UTC().Format(time.RFC3339))
	}, readMost},
	{"check", of("/v1/check/"+namespace+"/", ""), readMost},
	{"check with suggestions", of("/v1/check/"+namespace+"/", "?suggest=3"), readMost},
	{"resolve", of("/v1/resolve/"+namespace+"/", ""), readMost},
	{"entity", func(names int) string {
		owner := workload.LoadedEntity(rand.IntN(names))
		return "/v1/entities/" + owner.Type + "/" + owner.ID
	}, readMost},
	{"events from the beginning", fixed("/v1/events?limit=100"), readMost},
	{"events from now on", fixed("/v1/events?after=latest"), readMost},
	{"events of a namespace", fixed("/v1/events?limit=100&namespace=" + namespace), readMost},
}

// readTime bounds the time of one kind of read.
const readTime = 20 * time.Second

// readsAtSize is G6: the p99 of each read over HTTP, one after the other.
func readsAtSize(l *lab, e *estate) (rows []row) {
	l.Helper()
	p := e.serve(l)
	defer p.stop()
	client := &http.Client{Timeout: time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	for _, r := range reads {
		var latencies []time.Duration
		begin := time.Now()
		for more := lasting(readTime); len(latencies) < l.asks && more(); {
			start := time.Now()
			status, err := ask(client, p.url+r.path(l.names))
			l.must(err)
			latencies = append(latencies, time.Since(start))
			if status >= http.StatusBadRequest {
				l.Logf("%s on %s: status %d", r.what, e.engine, status)
				break
			}
		}
		done := newRun(time.Since(begin), latencies)
		rows = append(rows, row{what: fmt.Sprintf("%s on %s, p99", r.what, e.engine), unit: figures.Seconds, ours: figuresOf(done.percentile(99)), want: atMost(r.most)})
	}
	return rows
}

// ask sends a request and reads the whole answer.
func ask(client *http.Client, address string) (status int, err error) {
	response, err := client.Get(address)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, err
}
