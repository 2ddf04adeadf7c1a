package limit

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Rate is N per duration. All N may be used at once, and refill evenly. The zero Rate means no
// limit.
type Rate struct {
	N   int
	Per time.Duration
}

const off = "off"

var spans = []struct {
	name string
	span time.Duration
}{{"s", time.Second}, {"m", time.Minute}, {"h", time.Hour}}

// maxRate keeps sums of rates far from an overflow.
const maxRate = 1_000_000_000

// ParseRate parses "500/s", "10/m", "100/h" or "off".
func ParseRate(text string) (Rate, error) {
	if text == off {
		return Rate{}, nil
	}
	number, unit, _ := strings.Cut(text, "/")
	n, err := strconv.Atoi(number)
	if err == nil && n > 0 && n <= maxRate {
		for _, s := range spans {
			if s.name == unit {
				return Rate{n, s.span}, nil
			}
		}
	}
	return Rate{}, fmt.Errorf(`%q is not a rate: write it like "500/s", "10/m", "100/h" or "off"`, text)
}

// Off reports whether there is no limit.
func (r Rate) Off() bool { return r.N == 0 }

// String returns the rate as [ParseRate] parses it.
func (r Rate) String() string {
	if r.Off() {
		return off
	}
	for _, s := range spans {
		if s.span == r.Per {
			return strconv.Itoa(r.N) + "/" + s.name
		}
	}
	return strconv.Itoa(r.N) + "/" + r.Per.String()
}
