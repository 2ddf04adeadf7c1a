package dibsclient

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxMessage is the maximum size of a message of a stream, in bytes.
const maxMessage = 1 << 20

// message is a message of a stream of server-sent events.
type message struct{ id, data string }

// messageReader reads server-sent events.
type messageReader struct {
	lines *bufio.Scanner
	alive func() // called when the server has sent a line
}

func newMessageReader(r io.Reader, alive func()) *messageReader {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxMessage)
	return &messageReader{lines, alive}
}

// next returns the next message with an id or data. It skips comments, which are
// heartbeats, and fields that have no meaning here.
func (m *messageReader) next() (message, error) {
	var (
		msg  message
		data []string
		size int
	)
	for m.alive(); m.lines.Scan(); m.alive() {
		line := m.lines.Text()
		if line == "" {
			msg.data = strings.Join(data, "\n")
			if msg.id != "" || msg.data != "" {
				return msg, nil
			}
			size = 0
			continue
		}
		if size += len(line); size > maxMessage {
			return msg, tooLong()
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "id":
			msg.id = value
		case "data":
			data = append(data, value)
		}
	}
	switch err := m.lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return msg, tooLong()
	case err != nil:
		return msg, err
	default:
		return msg, io.EOF // an incomplete message does not count
	}
}

func tooLong() error {
	return &invalidStreamError{fmt.Errorf("a message has more than %d bytes", maxMessage)}
}
