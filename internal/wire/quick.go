package wire

import (
	"strconv"
	"unicode/utf8"
)

// ParseReserve reads the usual form of a Reserve with its token in a fraction of the time that a decoder and a
// schema take: members with texts without escapes, an entity, a TTL. It returns false for every
// other body, right or wrong: then those have to read it, who also say what is wrong.
func ParseReserve(body []byte) (r Reserve, token string, ok bool) {
	var entity Entity
	var ttl int64
	s := scanner{rest: body}
	seen, ok := s.object(func(name string) (member int, ok bool) {
		switch name {
		case "namespace":
			return 0, s.text(&r.Namespace)
		case "value":
			return 1, s.text(&r.Value)
		case "entity":
			r.Entity = &entity
			return 2, s.entity(&entity)
		case "ttlMs":
			r.TTLMs = &ttl
			return 3, s.number(&ttl)
		case "correlationId":
			return 4, s.text(&r.CorrelationID)
		case "field":
			return 5, s.text(&r.Field)
		case "token":
			return 6, s.text(&token)
		default:
			return 0, false
		}
	})
	const required = 1<<0 | 1<<1
	return r, token, ok && seen&required == required && s.end() && utf8.Valid(body)
}

// scanner reads simple JSON. Each of its methods returns false for what is not simple.
type scanner struct{ rest []byte }

// next returns the next character that is not a space; 0 at the end.
func (s *scanner) next() byte {
	for len(s.rest) > 0 {
		switch c := s.rest[0]; c {
		case ' ', '\t', '\r', '\n':
			s.rest = s.rest[1:]
		default:
			return c
		}
	}
	return 0
}

// end reports whether only spaces are left.
func (s *scanner) end() bool { return s.next() == 0 && len(s.rest) == 0 }

// take skips a character.
func (s *scanner) take(c byte) bool {
	if s.next() != c {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

// object reads an object, each member by a call of read, which returns the member's number. It
// returns the numbers as a set of bits, and refuses a member that comes twice.
func (s *scanner) object(read func(name string) (member int, ok bool)) (seen uint, ok bool) {
	if !s.take('{') {
		return 0, false
	}
	for {
		var name string
		if !s.text(&name) || !s.take(':') {
			return 0, false
		}
		member, ok := read(name)
		if !ok || seen&(1<<member) != 0 {
			return 0, false
		}
		seen |= 1 << member
		if s.take('}') {
			return seen, true
		}
		if !s.take(',') {
			return 0, false
		}
	}
}

// text reads a text without escapes.
func (s *scanner) text(into *string) bool {
	if !s.take('"') {
		return false
	}
	for i, c := range s.rest {
		switch {
		case c == '"':
			*into = string(s.rest[:i])
			s.rest = s.rest[i+1:]
			return true
		case c < ' ', c == '\\':
			return false
		}
	}
	return false
}

// number reads a positive integer.
func (s *scanner) number(into *int64) bool {
	const digits = 18 // always fit
	s.next()
	n := 0
	for n < len(s.rest) && n < digits && '0' <= s.rest[n] && s.rest[n] <= '9' {
		n++
	}
	if n == 0 || s.rest[0] == '0' {
		return false
	}
	*into, _ = strconv.ParseInt(string(s.rest[:n]), 10, 64)
	s.rest = s.rest[n:]
	return true // what follows, such as a fraction, is neither a comma nor a brace
}

// entity reads an entity with both its members.
func (s *scanner) entity(into *Entity) bool {
	seen, ok := s.object(func(name string) (member int, ok bool) {
		switch name {
		case "type":
			return 0, s.text(&into.Type)
		case "id":
			return 1, s.text(&into.ID)
		default:
			return 0, false
		}
	})
	return ok && seen == 3
}
