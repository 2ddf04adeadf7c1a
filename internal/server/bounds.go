package server

import (
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/calldibs/dibs/internal/exactjson"
	"github.com/calldibs/dibs/internal/wire"
)

// Bounds of every request. They keep the work for a bad request, and the response to it, in
// proportion to the request. They are above what the rules of names allow, so that the rules
// refuse a value or a list that is too long for them, with their own code.
const (
	// maxText is how many characters a string may have: as many as fit into the head of a
	// request, so that a body accepts every value that a path accepts.
	maxText = maxHeader
	// maxList is how many elements a list, or entries a map, may have.
	maxList = 1000
	// maxValues is how many JSON values a body may have in total. The largest body that the
	// rules allow is a list of 32 commands with 32 reservations of 27 values each.
	maxValues = 32 << 10
	// maxDepth is how deep lists and objects may be nested.
	maxDepth = 32
)

// strictJSON refuses a body that is out of bounds; one that is not UTF-8, because the decoder
// would replace invalid bytes and so register another name; and one with a duplicate member,
// because the schema would check only the last of two lists or objects and the decoder would
// merge both.
var strictJSON = huma.Format{
	Marshal: huma.DefaultJSONFormat.Marshal,
	Unmarshal: func(data []byte, v any) error {
		if !utf8.Valid(data) {
			return errors.New("is not UTF-8")
		}
		if err := checkShape(data); err != nil {
			return err
		}
		if _, toValidate := v.(*any); toValidate && errors.Is(exactjson.Unique(data), exactjson.ErrDuplicate) {
			return errors.New("has a duplicate member")
		}
		return huma.DefaultJSONFormat.Unmarshal(data, v)
	},
}

// These end the errors about a body with too many values, and about one with too long a list. The API library
// passes on only the text of an error.
var (
	moreValues   = fmt.Sprintf("values, more than the %s allowed", wire.Thousands(maxValues))
	moreElements = fmt.Sprintf("elements, more than the %s allowed", wire.Thousands(maxList))
)

// checkShape refuses JSON with too many values, too long a list or too deep a nesting before it is decoded: each
// value costs memory, and the API library collects an error for each wrong one. It decodes a list also if the schema
// refuses it, and then each element costs what the largest could be. Data that is not JSON may pass; the decoder refuses it.
func checkShape(data []byte) error {
	values, longest, depth, deepest, inText := 1, 0, 0, 0, false
	var elements [maxDepth + 1]int // of each list around this value, by its depth; of what is no list, a number below zero
	elements[0] = math.MinInt
	for i := 0; i < len(data); i++ {
		innermost := &elements[min(max(depth, 0), maxDepth)]
		switch c := data[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == ',':
			values++
			*innermost++
			longest = max(longest, *innermost)
		case c == '[', c == '{': // itself, and the first value inside
			values++
			depth++
			deepest = max(deepest, depth)
			innermost = &elements[min(max(depth, 0), maxDepth)]
			if *innermost = 1; c == '{' {
				*innermost = math.MinInt
			}
		case c == ']', c == '}':
			depth--
		}
	}
	switch {
	case values > maxValues:
		return fmt.Errorf("has %s %s", wire.Thousands(values), moreValues)
	case longest > maxList:
		return fmt.Errorf("has a list of %s %s", wire.Thousands(longest), moreElements)
	case deepest > maxDepth:
		return fmt.Errorf("is nested %s deep, more than the %d allowed", wire.Thousands(deepest), maxDepth)
	default:
		return nil
	}
}

// boundInputs bounds every string, list and map of an operation's request that has no bound by
// its own tags.
func boundInputs(api *huma.OpenAPI, op *huma.Operation) {
	for _, p := range op.Parameters {
		bound(api.Components.Schemas, p.Schema)
	}
	if op.RequestBody != nil {
		for _, media := range op.RequestBody.Content {
			bound(api.Components.Schemas, media.Schema)
		}
	}
}

func bound(schemas huma.Registry, s *huma.Schema) {
	for s.Ref != "" {
		s = schemas.SchemaFromRef(s.Ref)
	}
	setBound := func(b **int, most int) {
		if *b == nil {
			*b = &most
		}
	}
	switch s.Type {
	case huma.TypeString:
		if len(s.Enum) == 0 {
			setBound(&s.MaxLength, maxText)
		}
	case huma.TypeArray:
		setBound(&s.MaxItems, maxList)
		bound(schemas, s.Items)
	case huma.TypeObject:
		for _, property := range s.Properties {
			bound(schemas, property)
		}
		if values, ok := s.AdditionalProperties.(*huma.Schema); ok {
			setBound(&s.MaxProperties, maxList)
			bound(schemas, values)
		}
	}
	s.PrecomputeMessages()
}
