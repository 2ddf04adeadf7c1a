package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// memory is what earlier runs have learned. It only saves time: without it a run comes to the same
// results. It is safe for concurrent use.
type memory struct {
	path string
	mu   sync.Mutex

	// Finders has the test that found a change.
	Finders map[string]finder `json:"finders"`
	// Passed has the changes that none of the tests in a program found, by the hash of the program.
	Passed map[string]map[string]bool `json:"passed"`
}

// finder is a test that found a change.
type finder struct {
	Package string `json:"package"`
	Test    string `json:"test"`
}

// defaultMemory returns the path of a file in the user's cache, or none.
func defaultMemory() string {
	folder, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(folder, "dibs", "mutate.json")
}

// readMemory reads a memory. One that cannot be read is empty.
func readMemory(path string) *memory {
	m := &memory{path: path}
	if data, err := os.ReadFile(path); err == nil {
		_ = json.Unmarshal(data, m)
	}
	if m.Finders == nil {
		m.Finders = make(map[string]finder)
	}
	if m.Passed == nil {
		m.Passed = make(map[string]map[string]bool)
	}
	return m
}

func (m *memory) finder(change string) finder {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.Finders[change]
}

// findersIn returns the tests that found changes of the same function, and how many.
func (m *memory) findersIn(of mutant) map[finder]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := make(map[finder]int)
	for change, by := range m.Finders {
		if strings.HasPrefix(change, of.place()) {
			found[by]++
		}
	}
	return found
}

func (m *memory) noteFinder(change string, by finder) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.Finders[change] = by
}

func (m *memory) passed(program, change string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.Passed[program][change]
}

func (m *memory) notePassed(program, change string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.Passed[program] == nil {
		m.Passed[program] = make(map[string]bool)
	}
	m.Passed[program][change] = true
}

// keepOnly forgets the programs that are not among these.
func (m *memory) keepOnly(programs map[string]bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for program := range m.Passed {
		if !programs[program] {
			delete(m.Passed, program)
		}
	}
}

// write writes the memory into its file, if it has one.
func (m *memory) write() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.path == "" {
		return nil
	}
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(m.path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(m.path, data, 0o600)
}
