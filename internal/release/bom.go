package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// The types are a part of CycloneDX 1.6, a format for the list of what is in a program.

type bom struct {
	Schema       string      `json:"$schema"`
	Format       string      `json:"bomFormat"`
	SpecVersion  string      `json:"specVersion"`
	SerialNumber string      `json:"serialNumber"`
	Version      int         `json:"version"`
	Metadata     metadata    `json:"metadata"`
	Components   []component `json:"components"`
}

type metadata struct {
	Timestamp string    `json:"timestamp"`
	Component component `json:"component"`
}

type component struct {
	Ref      string     `json:"bom-ref"`
	Type     string     `json:"type"`
	Name     string     `json:"name"`
	Version  string     `json:"version"`
	PURL     string     `json:"purl"`
	Hashes   []hash     `json:"hashes,omitempty"`
	Licenses []licensed `json:"licenses,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type licensed struct {
	License struct {
		ID string `json:"id"`
	} `json:"license"`
}

// writeBOM writes the list of what is in the program of a platform.
func (r *release) writeBOM(t target) error {
	program := r.program(t)
	contained, err := libraries(program)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(r.bom(t, sha256.Sum256(content), contained), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(r.file(t, ".cdx.json"), append(text, '\n'), 0o644)
}

func (r *release) bom(t target, sum [sha256.Size]byte, contained []library) bom {
	self := library{"golang", "github.com/calldibs/dibs", "v" + r.version}
	mit := licensed{}
	mit.License.ID = "MIT"
	list := bom{
		Schema: "http://cyclonedx.org/schema/bom-1.6.schema.json", Format: "CycloneDX", SpecVersion: "1.6", Version: 1,
		SerialNumber: serial(sum),
		Metadata: metadata{
			Timestamp: r.date.Format(time.RFC3339),
			Component: component{
				Ref: self.purl() + "#cmd/dibs", Type: "application", Name: "dibs", Version: r.version,
				PURL:     fmt.Sprintf("%s?goos=%s&goarch=%s#cmd/dibs", self.purl(), t.os, t.arch),
				Hashes:   []hash{{"SHA-256", fmt.Sprintf("%x", sum)}},
				Licenses: []licensed{mit},
			},
		},
	}
	for _, l := range contained {
		list.Components = append(list.Components, component{Ref: l.purl(), Type: "library", Name: l.name, Version: l.version, PURL: l.purl()})
	}
	return list
}

// serial returns a UUID of version 8 that depends on the program alone, so that a release can be
// reproduced.
func serial(sum [sha256.Size]byte) string {
	id := sum[:16]
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}
