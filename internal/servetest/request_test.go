package servetest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/wire"
)

// dial connects to a server without an HTTP client. The connection is closed when the test ends.
func dial(t *testing.T, url string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	return conn
}

// newClient returns a client with its own connections.
func newClient(t *testing.T, perHost int) *http.Client {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: perHost}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience}
}

// answer is a server's answer.
type answer struct {
	status int
	body   []byte
	last   bool // the server closes the connection afterwards
}

// ask sends a request. Headers are pairs.
func ask(client *http.Client, method, url, body string, headers ...string) (answer, error) {
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := client.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, data, response.Close}, err
}

// get sends a GET request, and fails the test without an answer.
func get(t *testing.T, url string, headers ...string) answer {
	t.Helper()
	a, err := ask(newClient(t, 1), http.MethodGet, url, "", headers...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// reservation is the body of a request to reserve a name for an entity.
func reservation(name, entity string) string {
	return fmt.Sprintf(`{"namespace": "slug", "value": %q, "ttlMs": 600000, "entity": {"type": "worker", "id": %q}}`, name, entity)
}

// holders returns the entity of each name.
func holders(t *testing.T, url string) map[string]string {
	t.Helper()
	client, found := newClient(t, 1), make(map[string]string)
	for cursor := ""; ; {
		a, err := ask(client, http.MethodGet, url+"/v1/names?namespace=slug&limit=1000&cursor="+cursor, "")
		if err != nil || a.status != http.StatusOK {
			t.Fatalf("listing names: %d, %v, %s", a.status, err, a.body)
		}
		var page wire.NamesPage
		if err := json.Unmarshal(a.body, &page); err != nil {
			t.Fatal(err)
		}
		for _, n := range page.Names {
			if n.Entity != nil {
				found[n.Canonical] = n.Entity.ID
			}
		}
		if cursor = page.NextCursor; cursor == "" {
			return found
		}
	}
}

// isDraining reports whether a server no longer accepts new requests.
func isDraining(url string) bool {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	a, err := ask(client, http.MethodGet, url+"/readyz", "")
	return err != nil || a.status == http.StatusServiceUnavailable
}
