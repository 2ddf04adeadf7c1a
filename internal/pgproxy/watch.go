package pgproxy

import "slices"

// Exchanges returns how many exchanges were seen: that is the number of round trips.
func (p *Proxy) Exchanges() int { return int(p.exchanges.Load()) }

// StatementCount returns how many statements clients asked to execute.
func (p *Proxy) StatementCount() int { return int(p.statements.Load()) }

// Record starts a new log of statements, or ends it.
func (p *Proxy) Record(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if on {
		p.log = nil
	}
	p.recording = on
}

// Statements returns the text of each statement seen while recording.
func (p *Proxy) Statements() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.log)
}

// DropNotifications sets whether notifications of the server are kept from the clients.
func (p *Proxy) DropNotifications(drop bool) { p.dropNotes.Store(drop) }

// Notifications returns how many notifications the server sent, passed on or not.
func (p *Proxy) Notifications() int { return int(p.notes.Load()) }

// Cancels returns how many requests to cancel the server has got. Those of a client that
// was cut off do not get there.
func (p *Proxy) Cancels() int { return int(p.cancels.Load()) }

// Violations returns what was refused because of [Proxy.Forbid] and [Proxy.LimitArrays].
func (p *Proxy) Violations() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.violations)
}

// decide asks the hook.
func (p *Proxy) decide(x *Exchange) Action {
	if hook := p.hook.Load(); hook != nil {
		return (*hook)(x)
	}
	return Pass()
}

// saw counts an exchange.
func (p *Proxy) saw(x *Exchange) {
	p.exchanges.Add(1)
	p.statements.Add(int64(len(x.Statements)))
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.recording {
		p.log = append(p.log, x.Statements...)
	}
}
