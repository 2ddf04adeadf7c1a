package torture

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
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
	Lacking  int `json:"lacking"`  // some reads lack a record, as documented for a file of more than 4 MB
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
	feed      []string     // the events of the round
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

// readNames reads the feed, and the names in it.
func (e *examination) readNames() error {
	_, err := readEvents(e.reference.patient, e.t.audit.from, func(event dibs.Event) {
		e.feed = append(e.feed, identity(event))
		if !event.ID.IsZero() {
			e.names = append(slices.DeleteFunc(e.names, func(known dibs.Event) bool { return known.ID == event.ID }), event)
			e.names = e.names[max(0, len(e.names)-mostNames):]
		}
	})
	return err
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
		t.must(moveJournal(path))
	}
	info, err := os.Stat(path)
	t.must(err)
	content, err := os.ReadFile(target)
	t.must(err)
	damaged := damage.do(bytes.Clone(content), random)
	t.must(os.WriteFile(target, damaged, 0o600))
	t.damaged.Copies++
	s, err := t.bystander("damaged", path)
	defer s.close()
	defer t.examineLog(s, "the server of a damaged copy")
	if err != nil {
		t.damaged.Refused++
		if log, _ := os.ReadFile(s.logPath); !s.hasEnded() || !bytes.Contains(log, []byte("sqlitestore: ")) && !bytes.Contains(log, []byte(dibs.CauseDamaged)) {
			t.damageIsServed(path, fmt.Errorf("%s: %w", damage.name, err))
		}
		return
	}
	if journal && hidesCommits(content, damaged) {
		t.damageIsServed(path, fmt.Errorf("%s in the journal: commits behind it are lost, and the copy is served", damage.name))
		return
	}
	if err := e.compare(s, allowance{older: journal, lacking: info.Size() > checkedSize}); err != nil {
		t.damageIsServed(path, fmt.Errorf("%s in %s: %w", damage.name, filepath.Base(target), err))
	}
}

// hidesCommits reports whether a damage hides commits of a journal, and could be told from the end that a crash leaves: two
// transactions or more are whole behind it. Damaged journals that were cut off cannot be told.
func hidesCommits(journal, damaged []byte) bool {
	if len(damaged) < len(journal) {
		return false
	}
	last := len(journal) - 1
	for last >= 0 && damaged[last] == journal[last] {
		last--
	}
	// https://www.sqlite.org/fileformat2.html#walformat
	const header, frame = 32, 24 + 2048
	commits := 0
	for at := header; last >= 0 && at+frame <= len(journal) && bytes.Equal(journal[at+8:at+16], journal[16:24]); at += frame {
		if isCommit := binary.BigEndian.Uint32(journal[at+4:]) > 0; isCommit && at > last {
			commits++
		}
	}
	return commits >= 2
}

// damageIsServed notes a violation, and keeps the file.
func (t *run) damageIsServed(path string, err error) {
	kept := fmt.Sprintf("%s-%d", path, t.damaged.Copies)
	t.must(copyFile(path, kept))
	t.found(Violation{Kind: "damage", What: fmt.Sprintf("%v; the file is %s", err, kept)})
}

// allowance is how the answers of a damaged copy may differ.
type allowance struct {
	older   bool // a damaged journal ends early
	lacking bool // the index of a file that is not checked as a whole may have lost a record
}

// finding counts how answers of a damaged copy differ.
type finding struct{ named, older, lacking int }

// compare compares the answers about names, their histories and the feed.
func (e *examination) compare(s *server, may allowance) error {
	var found finding
	if err := e.compareFeed(s, may, &found); err != nil {
		return err
	}
	for _, name := range e.names {
		if err := e.compareName(s, name, may, &found); err != nil {
			return err
		}
	}
	if found.older == 0 {
		if err := e.stealNames(s); err != nil {
			return err
		}
	}
	switch {
	case found.named > 0:
		e.t.damaged.Named++
	case found.older > 0:
		e.t.damaged.Older++
	case found.lacking > 0:
		e.t.damaged.Lacking++
	default:
		e.t.damaged.Unharmed++
	}
	return nil
}

// stealNames claims names that have an owner: whatever is damaged, no other entity may get them.
func (e *examination) stealNames(s *server) error {
	for _, name := range e.names {
		n, err := patiently(func(ctx context.Context) (dibs.Name, error) {
			return e.reference.registry.Get(ctx, dibs.Lookup{Namespace: name.Namespace, Value: name.Value})
		})
		if err != nil && !errors.Is(err, dibs.ErrNotFound) {
			return fmt.Errorf("the sound copy is not served: %w", err)
		}
		if n.State != dibs.Active && n.State != dibs.Alias {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), mostStarting)
		_, err = s.registry.Claim(ctx, dibs.Claim{Namespace: name.Namespace, Value: name.Value, Entity: dibs.Entity{Type: "user", ID: "thief"}})
		cancel()
		if err == nil {
			return fmt.Errorf("%s of %s is given to another entity", name.Key(), n.Entity)
		}
	}
	return nil
}

func (e *examination) compareName(s *server, name dibs.Event, may allowance, found *finding) error {
	before, err := read(e.reference, name)
	if err != nil {
		return fmt.Errorf("the sound copy is not served: %w", err)
	}
	got, err := read(s, name)
	switch {
	case isDamage(err):
		found.named++
		return nil
	case err != nil:
		return err
	case got.is(before):
		return nil
	}
	after, err := read(e.reference, name) // a hold may have ended meanwhile
	switch {
	case err != nil:
		return fmt.Errorf("the sound copy is not served: %w", err)
	case got.is(after):
	case may.older && got.isBefore(after):
		found.older++
	case may.lacking && got.lacks(after):
		found.lacking++
	default:
		return fmt.Errorf("%s is %+v with the history %v, and was %+v with the history %v",
			name.Key(), got.name, got.history, before.name, before.history)
	}
	return nil
}

// compareFeed compares the feed of the round, which also has the events of names that are not compared.
func (e *examination) compareFeed(s *server, may allowance, found *finding) error {
	var got []string
	_, err := readEvents(s.registry, e.t.audit.from, func(event dibs.Event) { got = append(got, identity(event)) })
	isSame := len(got) <= len(e.feed) && slices.Equal(got, e.feed[:len(got)])
	switch {
	case may.older && errors.Is(err, dibs.ErrBadCursor): // it ends before the round began
		found.older++
	case err != nil && !isDamage(err):
		return fmt.Errorf("the feed cannot be read: %w", err)
	case !isSame && (!may.lacking || !isPart(got, e.feed)):
		return fmt.Errorf("the feed differs from that of the sound copy: %s", difference(got, e.feed))
	case err != nil:
		found.named++
	case len(got) == len(e.feed):
	case may.older && isSame:
		found.older++
	case may.lacking:
		found.lacking++
	default:
		return fmt.Errorf("the feed ends after %d of %d events", len(got), len(e.feed))
	}
	return nil
}

// isPart reports whether all events of a feed are in another one, in its order.
func isPart(events, all []string) bool {
	for _, event := range events {
		i := slices.Index(all, event)
		if i < 0 {
			return false
		}
		all = all[i+1:]
	}
	return true
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
	return n <= len(other.history) && slices.Equal(r.history, other.history[:n]) && r.state == r.last
}

// lacks reports whether a reading has a part of another one, and nothing else.
func (r reading) lacks(other reading) bool {
	known := func(event string) bool { return slices.Contains(other.history, event) }
	return (r.name == other.name || r.name == "") && !slices.ContainsFunc(r.history, func(event string) bool { return !known(event) })
}

func isDamage(err error) bool {
	return err != nil && strings.Contains(err.Error(), string(dibs.CauseDamaged))
}

// read reads a name and its history.
func read(s *server, name dibs.Event) (reading, error) {
	return patiently(func(ctx context.Context) (r reading, err error) {
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
	})
}

// moveJournal moves what a journal has into its file, as a server does in time: pages of the file that the
// journal replaces do not matter, however damaged they are.
func moveJournal(path string) error {
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(context.Background(), "PRAGMA wal_checkpoint(TRUNCATE)")
	return errors.Join(err, db.Close())
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
