package torture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/calldibs/dibs"
)

// damageFault kills all servers, and lets others serve damaged copies of the file: each copy must
// be refused, or all that it answers must be right.
var damageFault = fault{
	Fault: Fault{"damage", "all servers are killed, and copies of the file are damaged and served", "sqlite"},
	inject: func(t *run, _ *rand.Rand) time.Time {
		t.awaitFirstEvent()
		t.killServers()
		gone := time.Now()
		t.must(copyFile(t.file, t.soundCopy()))
		t.startServers()
		return gone
	},
	undo: func(t *run, random *rand.Rand) {
		e, err := t.beginExamination()
		t.must(err)
		defer e.reference.close()
		for n := 0; n < damagedCopies && t.violations() == 0; n++ {
			e.examine(random)
		}
	},
}

// awaitFirstEvent waits until there is something that can be compared, for a while.
func (t *run) awaitFirstEvent() {
	ctx, cancel := context.WithTimeout(context.Background(), mostStarting)
	defer cancel()
	_, _ = t.servers[0].patient.AwaitEvents(ctx, dibs.FeedQuery{After: t.audit.from, Limit: 1})
}

// damagedCopies is how many copies are damaged each time.
const damagedCopies = 3

// Damaged counts the damaged copies.
type Damaged struct {
	Copies   int `json:"copies"`
	Refused  int `json:"refused"`  // no server starts on them
	Named    int `json:"named"`    // some reads say that the database is damaged
	Older    int `json:"older"`    // the journal ended early: the last commits are missing
	Unharmed int `json:"unharmed"` // all reads are right
}

// damages are what disks, crashes and other programs do to a file.
var damages = []struct {
	name string
	do   func(file []byte, random *rand.Rand) []byte
}{
	{"flipped bits", func(file []byte, random *rand.Rand) []byte {
		for range 1 + random.IntN(8) {
			file[random.IntN(len(file))] ^= 1 << random.IntN(8)
		}
		return file
	}},
	{"a cleared sector", func(file []byte, random *rand.Rand) []byte {
		at := random.IntN(len(file)) &^ 511
		clear(file[at:min(at+512, len(file))])
		return file
	}},
	{"a torn write", func(file []byte, random *rand.Rand) []byte {
		const half = 1024
		from, to := random.IntN(len(file)), random.IntN(len(file))&^(half-1)
		copy(file[to:min(to+half, len(file))], file[from:])
		return file
	}},
	{"a missing end", func(file []byte, random *rand.Rand) []byte {
		return file[:1+random.IntN(len(file)-1)] // an empty file is a new one
	}},
}

// checkedSize is the size up to which a server checks the whole file when it starts. In a larger
// one it does not notice that an index has lost a record: see docs/engines.md.
const checkedSize = 4 << 20

// examination compares what servers of damaged copies answer with what a server of the sound copy
// answers. None of them sweeps, so that only time changes the answers.
type examination struct {
	t         *run
	reference *server
	names     []dibs.Event // the last event of each
}

func (t *run) soundCopy() string { return filepath.Join(t.Folder, "sound.db") }

// bystander opens a server that no caller of the histories knows.
func (t *run) bystander(name, path string) (*server, error) {
	config := filepath.Join(t.Folder, "bystander.toml")
	if err := os.WriteFile(config, []byte(strings.Replace(configuration, `"250ms"`, `"1d"`, 1)), 0o600); err != nil {
		return &server{}, err
	}
	log := filepath.Join(t.Folder, name+".log")
	if err := os.Remove(log); err != nil && !errors.Is(err, os.ErrNotExist) {
		return &server{}, err
	}
	s := &server{
		env: t.Env, logPath: log,
		command: append(slices.Clone(t.Program), "serve", "--listen", "127.0.0.1:0", "--config", config, "--store", "sqlite:"+path),
	}
	return s, s.open()
}

func (t *run) beginExamination() (*examination, error) {
	path := filepath.Join(t.Folder, "reference.db")
	if err := copyFile(t.soundCopy(), path); err != nil {
		return nil, err
	}
	reference, err := t.bystander("reference", path)
	e := &examination{t: t, reference: reference}
	if err == nil {
		err = e.readNames()
	}
	if err != nil {
		reference.close()
	}
	return e, err
}

// mostNames is how many names are compared, the latest ones.
const mostNames = 40

func (e *examination) readNames() error {
	ctx, cancel := context.WithTimeout(context.Background(), mostStarting)
	defer cancel()
	for after, more := e.t.audit.from, true; more; {
		page, err := e.reference.patient.Events(ctx, dibs.FeedQuery{After: after, Limit: 1000})
		if err != nil {
			return err
		}
		for _, event := range page.Events {
			if !event.ID.IsZero() {
				e.names = append(slices.DeleteFunc(e.names, func(known dibs.Event) bool { return known.ID == event.ID }), event)
			}
		}
		e.names = e.names[max(0, len(e.names)-mostNames):]
		after, more = page.Next, page.More
	}
	return nil
}

// examine damages a copy, and serves it.
func (e *examination) examine(random *rand.Rand) {
	if len(e.names) == 0 {
		return // no history has begun, so there is nothing to compare
	}
	t := e.t
	path := filepath.Join(t.Folder, "damaged.db")
	t.must(copyFile(t.soundCopy(), path))
	damage, journal := damages[random.IntN(len(damages))], random.IntN(2) == 0
	target := path
	if info, err := os.Stat(path + "-wal"); journal && err == nil && info.Size() > 1 {
		target += "-wal"
	} else {
		journal = false
	}
	content, err := os.ReadFile(target)
	t.must(err)
	t.must(os.WriteFile(target, damage.do(content, random), 0o600))
	t.damaged.Copies++
	s, err := t.bystander("damaged", path)
	defer s.close()
	if err != nil {
		t.damaged.Refused++
		if log, _ := os.ReadFile(s.logPath); !bytes.Contains(log, []byte("sqlitestore: ")) && !bytes.Contains(log, []byte(dibs.CauseDamaged)) {
			t.damageIsServed(path, fmt.Errorf("%s: %w", damage.name, err))
		}
		return
	}
	info, err := os.Stat(t.soundCopy())
	t.must(err)
	if err := e.compare(s, journal, info.Size() > checkedSize); err != nil {
		t.damageIsServed(path, fmt.Errorf("%s in %s: %w", damage.name, filepath.Base(target), err))
	}
}

// damageIsServed notes a violation, and keeps the file.
func (t *run) damageIsServed(path string, err error) {
	kept := fmt.Sprintf("%s-%d", path, t.damaged.Copies)
	t.must(copyFile(path, kept))
	t.found(Violation{Kind: "damage", What: fmt.Sprintf("%v; the file is %s", err, kept)})
}

// compare compares the answers about all names. A damaged journal ends early, so the answers may
// be older; an unchecked file may lack a record.
func (e *examination) compare(s *server, journal, unchecked bool) error {
	named, older := 0, 0
	for _, name := range e.names {
		before, err := read(e.reference, name)
		if err != nil {
			return fmt.Errorf("the sound copy is not served: %w", err)
		}
		got, err := read(s, name)
		if isDamage(err) {
			named++
			continue
		}
		if err != nil {
			return err
		}
		if got.is(before) {
			continue
		}
		after, err := read(e.reference, name) // a hold may have ended meanwhile
		switch {
		case err != nil:
			return fmt.Errorf("the sound copy is not served: %w", err)
		case got.is(after):
		case journal && got.isBefore(after):
			older++
		case unchecked && got.lacks(after):
		default:
			return fmt.Errorf("%s is %+v with the history %v, and was %+v with the history %v",
				name.Key(), got.name, got.history, before.name, before.history)
		}
	}
	switch {
	case named > 0:
		e.t.damaged.Named++
	case older > 0:
		e.t.damaged.Older++
	default:
		e.t.damaged.Unharmed++
	}
	return nil
}

// reading is what a server says about a name.
type reading struct {
	name    string
	state   string
	history []string
	last    string // the state by the history
}

func (r reading) is(other reading) bool {
	return r.name == other.name && slices.Equal(r.history, other.history)
}

// isBefore reports whether a reading is right, and older than another one: its owner may be older, too.
func (r reading) isBefore(other reading) bool {
	n := len(r.history)
	return n <= len(other.history) && slices.Equal(r.history, other.history[:n]) && (r.state == r.last || r.state == "")
}

// lacks reports whether a reading has a part of another one, and nothing else.
func (r reading) lacks(other reading) bool {
	known := func(event string) bool { return slices.Contains(other.history, event) }
	return (r.name == other.name || r.name == "") && !slices.ContainsFunc(r.history, func(event string) bool { return !known(event) })
}

func isDamage(err error) bool {
	return err != nil && strings.Contains(err.Error(), string(dibs.CauseDamaged))
}

// read reads a name and its history. It tries again while the server has no time.
func read(s *server, name dibs.Event) (r reading, err error) {
	for deadline := time.Now().Add(mostStarting); ; time.Sleep(10 * time.Millisecond) {
		r, err = readOnce(s, name)
		if err == nil || isDamage(err) || !errors.Is(err, dibs.ErrUnavailable) || time.Now().After(deadline) {
			return r, err
		}
	}
}

func readOnce(s *server, name dibs.Event) (r reading, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), mostStarting)
	defer cancel()
	n, err := s.registry.Get(ctx, dibs.Lookup{Namespace: name.Namespace, Value: name.Value})
	switch {
	case err == nil:
		n.Remaining = 0
		r.name, r.state = fmt.Sprintf("%+v", n), stateOf(n.State, n.Epoch, n.Entity)
	case !errors.Is(err, dibs.ErrNotFound):
		return r, err
	}
	history, err := s.registry.History(ctx, name.Namespace, name.Value)
	for _, e := range history {
		e.Cursor = ""
		r.history = append(r.history, fmt.Sprintf("%+v", e))
		r.last = stateOf(e.After.State, e.After.Epoch, e.After.Entity)
	}
	if n.Status == dibs.StatusExpired {
		r.state = r.last // only time has passed
	}
	return r, err
}

// copyFile copies an SQLite file and its journal. Who opens the copy makes the index of the journal
// anew.
func copyFile(from, to string) error {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(to + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	for _, suffix := range []string{"", "-wal"} {
		content, err := os.ReadFile(from + suffix)
		if suffix == "-wal" && errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err == nil {
			err = os.WriteFile(to+suffix, content, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
