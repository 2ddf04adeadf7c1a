package config

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/webhook"
)

// Target is a webhook that the file declares.
type Target struct {
	webhook.Declared
	// SecretFile is the path of a file with its secret, and SecretEnv a variable with it. They are
	// read by [Config.DeclaredWebhooks].
	SecretFile, SecretEnv string

	from origin
}

// readTargets reads [[webhooks.targets]].
func (l *loader) readTargets(s *section) {
	for _, t := range s.tables("targets") {
		target := t.target()
		if slices.ContainsFunc(l.config.Webhooks.Targets, func(other Target) bool { return other.Name == target.Name }) {
			t.report("name", "duplicate webhook %q", target.Name)
		}
		l.config.Webhooks.Targets = append(l.config.Webhooks.Targets, target)
	}
}

// target reads an element of [[webhooks.targets]].
func (s *section) target() Target {
	t := Target{from: s.at("")}
	t.Enabled = true
	t.DeclaredIn = fmt.Sprintf("%s:%d", filepath.Base(t.from.File), t.from.Line)
	s.text("name", &t.Name)
	s.text("url", &t.URL)
	s.text("description", &t.Description)
	if t.Namespaces = s.oneOrMore("namespaces"); t.Namespaces == nil {
		t.Namespaces = []string{"*"}
	}
	for _, kind := range s.oneOrMore("kinds") {
		t.Kinds = append(t.Kinds, dibs.EventKind(kind))
	}
	s.boolean("enabled", &t.Enabled)
	s.text("from", &t.From)
	s.filePath("secretFile", &t.SecretFile)
	if s.text("secretEnv", &t.SecretEnv) {
		s.loader.named = append(s.loader.named, t.SecretEnv)
	}
	s.finish()
	if err := webhook.CheckName(t.Name); err != nil {
		s.report("name", "%v", err)
	}
	if (t.SecretFile == "") == (t.SecretEnv == "") {
		s.report("", "must have exactly one of secretFile and secretEnv")
	}
	if wrong := s.loader.config.Webhooks.Check(t.Hook); wrong != nil {
		s.report(wrong.Field, "%v", wrong.Err)
	}
	return t
}

// DeclaredWebhooks returns the webhooks that the file declares, with their secrets, which it reads.
// Nil means the environment of the process.
func (c *Config) DeclaredWebhooks(environ map[string]string) ([]webhook.Declared, error) {
	if environ == nil {
		environ = ProcessEnvironment()
	}
	var (
		problems Problems
		declared []webhook.Declared
	)
	for _, t := range c.Webhooks.Targets {
		from, err := "secretFile", error(nil)
		if t.SecretFile != "" {
			t.Secret, err = readSecret(t.SecretFile)
		} else if from, t.Secret = "secretEnv", environ[t.SecretEnv]; t.Secret == "" {
			err = fmt.Errorf("the variable %s is not set", t.SecretEnv)
		}
		if err == nil {
			err = webhook.CheckSecret(t.Secret)
		}
		if err != nil {
			problems = append(problems, Problem{t.from, fmt.Sprintf("%s: %v", from, err)})
			continue
		}
		declared = append(declared, t.Declared)
	}
	if problems != nil {
		return nil, problems
	}
	return declared, nil
}
