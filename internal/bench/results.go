package bench

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// results is a run as it is stored in a file. It does not name the machine: its absolute
// figures are an example, and cannot be compared.
type results struct {
	Date       string   `json:"date"`
	Go         string   `json:"go"`
	PostgreSQL string   `json:"postgresql"`
	Cores      int      `json:"cores"`
	Rounds     int      `json:"rounds"`
	Seconds    float64  `json:"seconds"` // of a round
	Results    []result `json:"results"`
}

type result struct {
	Goal   string   `json:"goal"`
	What   string   `json:"what"`
	Unit   unit     `json:"unit"`
	Ours   rounds   `json:"ours"`
	Peer   *rounds  `json:"peer,omitempty"`
	Ratio  *float64 `json:"ratio,omitempty"`
	Target string   `json:"target,omitempty"`
	Met    *bool    `json:"met,omitempty"`
}

type rounds struct {
	Median float64 `json:"median"`
	Rounds sample  `json:"rounds"`
}

func newResults(postgresql string, roundCount int, length time.Duration, rows []row) results {
	r := results{
		Date: time.Now().UTC().Format(time.DateOnly), Go: runtime.Version(), PostgreSQL: postgresql,
		Cores: runtime.GOMAXPROCS(0), Rounds: roundCount, Seconds: length.Seconds(),
	}
	for _, row := range rows {
		r.Results = append(r.Results, newResult(row))
	}
	return r
}

func newResult(r row) result {
	kept := result{
		Goal: r.goal, What: r.what, Unit: r.unit, Target: r.target(),
		Ours: rounds{Median: r.ours.median(), Rounds: r.ours},
	}
	if len(r.peer) > 0 {
		kept.Peer = &rounds{Median: r.peer.median(), Rounds: r.peer}
		kept.Ratio = new(r.figure())
	}
	if r.want.sense != noTarget {
		kept.Met = new(r.met())
	}
	return kept
}

func (r results) write(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
