package rules

import (
	"fmt"
	"strings"

	"github.com/calldibs/dibs"
)

const (
	maxSegments      = 8
	maxSegmentLength = 63
)

// namespaceInfo is a namespace split into its parts, with the policy that governs it.
type namespaceInfo struct {
	namespace string
	scope     string // everything before the last segment; empty for "slug"
	kind      string // the last segment: "slug" in "acme.slug"
	policy    *policy
}

// splitNamespace checks a namespace's form and returns its scope and type.
func splitNamespace(namespace string) (scope, kind string, err *dibs.Error) {
	segments := 0
	rest := namespace
	for {
		segment, tail, more := strings.Cut(rest, ".")
		if problem := segmentProblem(segment); problem != "" {
			return "", "", invalidNamespace(namespace, problem)
		}
		if segments++; segments > maxSegments {
			return "", "", invalidNamespace(namespace, fmt.Sprintf("it has more than %d segments", maxSegments))
		}
		if !more {
			kind = segment
			scope = strings.TrimSuffix(strings.TrimSuffix(namespace, segment), ".")
			return scope, kind, nil
		}
		rest = tail
	}
}

// segmentProblem says what is wrong with one segment, or nothing.
func segmentProblem(segment string) string {
	switch {
	case segment == "":
		return "a segment is empty"
	case len(segment) > maxSegmentLength:
		return fmt.Sprintf("a segment is longer than %d characters", maxSegmentLength)
	case segment[0] == '-' || segment[0] == '_':
		return fmt.Sprintf("the segment %s does not begin with a letter or a digit", quote(segment))
	}
	for _, r := range segment {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_' {
			return fmt.Sprintf("the segment %s contains %q; allowed are a-z, 0-9, '-' and '_'", quote(segment), r)
		}
	}
	return ""
}

func invalidNamespace(namespace, problem string) *dibs.Error {
	return refuse(dibs.CodeInvalidNamespace,
		`namespace %s is not well-formed: %s; write it like "slug" or "acme.slug"`, quote(namespace), problem)
}

// CheckNamespace checks a namespace's form.
func CheckNamespace(namespace string) *dibs.Error {
	_, _, err := splitNamespace(namespace)
	return err
}

// checkScope checks a scope: empty, or the first segments of a namespace.
func checkScope(scope string) *dibs.Error {
	if scope == "" {
		return nil
	}
	if _, _, err := splitNamespace(scope + ".x"); err != nil {
		err.Message = fmt.Sprintf("scope %s is not well-formed: %s", quote(scope), err.Message)
		return err
	}
	return nil
}
