package torture

import (
	"bytes"
	"io"
	"testing"
)

// A connection that has lost something carries nothing more, also in the moment before it is cut: its reader could take what
// comes next for what is missing.
func TestNothingArrivesBehindALoss(t *testing.T) {
	t.Parallel()
	var l link
	l.trouble.Store(&trouble{})
	from, sender := io.Pipe()
	var arrived bytes.Buffer
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer from.Close()
		l.pump(&arrived, from, func([]byte) any { return nil }, func(t *trouble) bool { return t.noAnswers })
	}()
	send := func(piece string) { _, _ = sender.Write([]byte(piece)) } // the next one can be sent once this one was treated
	send("first,")
	send("second")
	l.trouble.Store(&trouble{noAnswers: true})
	for range 2 {
		send("lost")
	}
	l.trouble.Store(&trouble{})
	send("third")
	_ = sender.Close()
	<-ended
	if got := arrived.String(); got != "first," && got != "first,second" { // the trouble may begin before the second arrives
		t.Errorf("%q arrived", got)
	}
}
