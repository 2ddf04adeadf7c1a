package pgproxy

import (
	"encoding/binary"

	"github.com/jackc/pgx/v5/pgproto3"
)

// binaryValues returns the parameters of a Bind that are in binary format.
func binaryValues(m *pgproto3.Bind) [][]byte {
	var values [][]byte
	for i, value := range m.Parameters {
		var format int16
		switch len(m.ParameterFormatCodes) {
		case 0:
		case 1:
			format = m.ParameterFormatCodes[0]
		default:
			format = m.ParameterFormatCodes[i]
		}
		if format == pgproto3.BinaryFormat {
			// collect keeps the copy.
			values = append(values, append([]byte(nil), value...))
		}
	}
	return values
}

// elements returns the number of elements of an array of one dimension, and 0 if the value
// is not one. It ignores the type: a value with the header of an array, and exactly the
// number of elements in that header, is an array.
func elements(value []byte) int {
	const header = 20 // dimensions, null flag, type, length, lower bound
	if len(value) < header || binary.BigEndian.Uint32(value) != 1 || binary.BigEndian.Uint32(value[4:]) > 1 {
		return 0
	}
	n := int(int32(binary.BigEndian.Uint32(value[12:])))
	rest := value[header:]
	for range n {
		if len(rest) < 4 {
			return 0
		}
		size := max(0, int(int32(binary.BigEndian.Uint32(rest)))) // -1 is a null
		if len(rest)-4 < size {
			return 0
		}
		rest = rest[4+size:]
	}
	if len(rest) > 0 {
		return 0
	}
	return n
}
