//go:build unix

package bench

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// redis is a lock in Redis, which many programs use for names: SET NX PX, one connection for
// each caller. It has no owner, no history and no confirmation. With appendfsync always it
// keeps what it has acknowledged, as Dibs does.
type redis struct {
	server *exec.Cmd
	free   chan *redisConn
}

// redisConn speaks Redis's protocol: a client library would only make the peer slower.
type redisConn struct {
	net.Conn
	answers *bufio.Reader
}

var redisLock = peer{
	is:    "Redis SET NX PX, appendfsync always",
	lacks: "no owner, no history, no confirmation, no list of what is held; the lock is lost when its time is over, whatever was saved",
}

func (r *redis) processes() []int { return []int{r.server.Process.Pid} }

const redisHold = 15 * time.Minute

func redisLocks(l *lab) contender {
	l.Helper()
	program, err := exec.LookPath("redis-check-rdb") // the same program under another name, in redis-tools
	if err != nil {
		l.Fatalf("%v: run make deps", err)
	}
	dir, err := os.MkdirTemp("", "dibs-redis-") // short, because the path of a socket must be
	l.must(err)
	l.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "redis.sock")
	server := &exec.Cmd{Path: program, Args: []string{
		"redis-server", "--port", "0", "--unixsocket", socket, "--dir", dir,
		"--appendonly", "yes", "--appendfsync", "always", "--save", "",
	}}
	l.must(server.Start())
	r := &redis{server: server, free: make(chan *redisConn, manyCallers)}
	l.Cleanup(r.close)
	for range manyCallers {
		conn := l.dialSocket(socket)
		r.free <- &redisConn{conn, bufio.NewReader(conn)}
	}
	return r
}

// dialSocket connects to a server that may not be ready yet.
func (l *lab) dialSocket(socket string) net.Conn {
	l.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			return conn
		}
		if time.Now().After(deadline) {
			l.Fatal(err)
		}
	}
}

func (r *redis) reserve(name string) (bool, error) {
	c := <-r.free
	defer func() { r.free <- c }()
	_, err := fmt.Fprintf(c, "*6\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$1\r\n1\r\n$2\r\nNX\r\n$2\r\nPX\r\n$6\r\n%d\r\n", len(name), name, redisHold.Milliseconds())
	if err != nil {
		return false, err
	}
	answer, err := c.answers.ReadString('\n')
	switch {
	case err != nil:
		return false, err
	case answer == "+OK\r\n":
		return true, nil
	case answer == "$-1\r\n":
		return false, nil
	}
	return false, fmt.Errorf("redis answers %q", answer)
}

func (r *redis) close() {
	if r.server.ProcessState == nil {
		_ = r.server.Process.Kill()
		_ = r.server.Wait()
	}
}
