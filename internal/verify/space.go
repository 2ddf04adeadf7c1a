package verify

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/calldibs/dibs"
)

// space is a namespace with its policy.
type space struct {
	policy   dibs.Policy
	rules    string // as the namespace record has them
	profile  string
	blind    bool
	inForce  bool // the names follow the rules of the policy
	skeleton bool
}

// maxSpaces is how many namespaces are remembered, the policies of which are then looked up again.
const maxSpaces = 4096

func (c *checker) space(namespace string) *space {
	if s := c.spaces[namespace]; s != nil {
		return s
	}
	if len(c.spaces) == maxSpaces {
		clear(c.spaces)
	}
	s := c.policySpace(namespace)
	if recorded, odd := c.odd[namespace]; odd {
		s.inForce = false
		s.blind = s.blind || strings.HasSuffix(recorded, " blind")
	}
	c.spaces[namespace] = s
	return s
}

// policySpace finds the policy of a namespace: its own, else that of its type, else the default.
func (c *checker) policySpace(namespace string) *space {
	policy, ok := c.Policies[namespace]
	if !ok {
		policy, ok = c.Policies[namespace[strings.LastIndexByte(namespace, '.')+1:]]
	}
	if !ok {
		policy = c.Default
	}
	if policy.Profile == nil {
		policy.Profile = dibs.Exact
	}
	s := &space{policy: policy, profile: policy.Profile.Name(), blind: len(policy.Blind) > 0, skeleton: policy.Skeleton != nil, inForce: true}
	s.rules = s.profile
	if s.skeleton {
		s.rules += " " + policy.Skeleton.Name()
	}
	if s.blind {
		s.rules += " blind"
	}
	return s
}

// checkRules compares the rules on record with those of the policy. Values of a namespace with other
// rules are not checked.
func (c *checker) checkRules(doc *dibs.Document, recorded, next string) {
	s := c.policySpace(doc.Label)
	switch {
	case next != "":
		c.odd[doc.Label] = recorded
		c.report.Skipped = append(c.report.Skipped, doc.Label)
	case recorded != "" && recorded != s.rules:
		c.odd[doc.Label] = recorded
		f := Finding{Namespace: doc.Label, Problem: "the names were made by other rules than those of the policy: they were not checked"}
		c.find(rulesDiffer, f.differs(recorded, s.rules))
	}
}

// checkCanonical checks that the value still leads to this row, and that the row is in the indexes
// that its policy wants. Names that were made by an earlier profile and have been free since are
// left as they are, and so are values that the profile no longer accepts.
func (c *checker) checkCanonical(n *dibs.NameRecord, s *space) {
	if !s.inForce {
		return
	}
	taken := isTakenAt(n, c.soon)
	if s.blind {
		c.checkBlindLinks(n, s, taken)
		return
	}
	made, err := canonicalOf(s, n.Value)
	if err != nil {
		if n.Profile == s.profile {
			f := c.about(n, fmt.Sprintf("the profile refuses the value %q: %v", n.Value, err))
			c.find(canonical, f)
		}
		return
	}
	if made != n.Canonical && (n.Profile == s.profile || taken) {
		f := c.about(n, fmt.Sprintf("the value %q is another name by the profile %s", n.Value, s.profile))
		c.find(canonical, f.differs(n.Canonical, made))
		return
	}
	if taken && n.Profile != s.profile {
		f := c.about(n, "the name was made by another profile than that of its namespace")
		c.find(canonical, f.differs(n.Profile, s.profile))
		return
	}
	if taken && s.skeleton {
		want := skeletonID(n.Namespace, s.policy.Skeleton.Skeleton(n.Canonical))
		if !slices.Contains(n.Links, dibs.Link{Kind: dibs.LinkSkeleton, ID: want}) {
			f := c.about(n, "the row does not lead to the index of its look-alikes: one of them can be given to another entity")
			f.Expected = "a link to " + want.String()
			c.find(lookAlikes, f)
		}
	}
}

// checkBlindLinks checks that the name can be found by a hash. Whether its other keys have it, only a
// process that is asked for the value can tell.
func (c *checker) checkBlindLinks(n *dibs.NameRecord, s *space, taken bool) {
	if !taken {
		return
	}
	key := label{n.Namespace, n.Canonical}.key()
	if !slices.Contains(n.Links, dibs.Link{Kind: dibs.LinkHash, ID: hashOf("hash\x00" + key)}) {
		c.find(blindKeys, c.about(n, "the row does not lead to the index of its hash: the name can be given away twice"))
	}
	if s.skeleton && !hasLinkKind(n, dibs.LinkSkeleton) {
		c.find(lookAlikes, c.about(n, "the row does not lead to the index of its look-alikes: one of them can be given to another entity"))
	}
}

// canonicalOf asks the profile, which may be user code.
func canonicalOf(s *space, value string) (canonical string, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the profile panicked: %v", r)
		}
	}()
	return s.policy.Profile.Canonical(value)
}

func hasLinkKind(n *dibs.NameRecord, kind dibs.LinkKind) bool {
	return slices.ContainsFunc(n.Links, func(l dibs.Link) bool { return l.Kind == kind })
}

// hashOf returns the ID of a record that a text identifies.
func hashOf(text string) dibs.ID {
	sum := sha256.Sum256([]byte(text))
	return dibs.ID(sum[:len(dibs.ID{})])
}

func skeletonID(namespace, skeleton string) dibs.ID {
	return hashOf("skeleton\x00" + namespace + ":" + skeleton)
}

// namespaceSubject is the subject of facts about a namespace.
func namespaceSubject(namespace string) subject { return subject{aboutNamespace, hashOf(namespace)} }

// use says that a namespace has names, and count that one of them is in a state. Both are collected,
// so that a namespace with many names makes few facts.
func (c *checker) use(namespace string) { c.count(dibs.NameCount{Namespace: namespace}) }

func (c *checker) count(key dibs.NameCount) {
	if c.tally[key]++; len(c.tally) >= maxSpaces {
		c.flushTally()
	}
}

func (c *checker) flushTally() {
	for key, n := range c.tally {
		if key.Count = n; key.State == "" {
			c.fact.begin(namespaceSubject(key.Namespace), tagUsed)
			c.fact.text(key.Namespace)
			c.emit()
		} else {
			c.addCount(tagRows, key)
		}
	}
	clear(c.tally)
}

func (c *checker) addCount(tag byte, count dibs.NameCount) {
	c.fact.begin(namespaceSubject(count.Namespace), tag)
	c.fact.text(count.Namespace)
	c.fact.text(string(count.State))
	c.fact.number(uint64(count.Count))
	c.emit()
}
