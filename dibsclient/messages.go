package dibsclient

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxMessage is how long a message of a stream may be.
const maxMessage = 1 << 20

// message is a message of a stream of server-sent events.
type message struct{ id, data string }

// messages reads server-sent events.
type messages struct {
	lines *bufio.Scanner
	alive func() // called whenever something may be heard of the server
}

func newMessages(r io.Reader, alive func()) *messages {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxMessage)
	return &messages{lines, alive}
}

// next returns the next message with an id or data. Comments, which only say that the
// server is alive, and fields that mean nothing here are passed over.
func (m *messages) next() (message, error) {
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
		return msg, io.EOF // half a message is none
	}
}

func tooLong() error {
	return &damagedError{fmt.Errorf("a message has more than %d bytes", maxMessage)}
}
