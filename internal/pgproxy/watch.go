package pgproxy

import "slices"

// Record starts a new log of statements, or ends it.
func (p *Proxy) Record(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if on {
		p.log = nil
	}
	p.recording = on
}

// Statements returns the text of each statement since Record(true).
func (p *Proxy) Statements() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.log)
}

// DropNotifications sets whether clients do not get the server's notifications.
func (p *Proxy) DropNotifications(drop bool) { p.dropNotes.Store(drop) }

// Notifications returns the number of notifications of the server, passed on or not.
func (p *Proxy) Notifications() int { return int(p.notes.Load()) }

// Cancels returns the number of cancel requests that the server got. Those of a client that
// was cut off are not passed on.
func (p *Proxy) Cancels() int { return int(p.cancels.Load()) }

// Violations returns what [Proxy.Forbid] and [Proxy.LimitArrays] refused.
func (p *Proxy) Violations() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.violations)
}

// decide calls the hook.
func (p *Proxy) decide(x *Exchange) Action {
	if hook := p.hook.Load(); hook != nil {
		return (*hook)(x)
	}
	return Pass()
}

// saw records the statements of an exchange.
func (p *Proxy) saw(x *Exchange) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.recording {
		p.log = append(p.log, x.Statements...)
	}
}
