package limit

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Rate is so many in so much time. All of them may come at once; what was used comes back
// evenly. The zero Rate is no limit.
type Rate struct {
	N   int
	Per time.Duration
}

const off = "off"

var spans = []struct {
	name string
	span time.Duration
}{{"s", time.Second}, {"m", time.Minute}, {"h", time.Hour}}

// mostRate keeps sums of rates far from what a number can hold.
const mostRate = 1_000_000_000

// ParseRate reads "500/s", "10/m", "100/h" or "off".
func ParseRate(text string) (Rate, error) {
	if text == off {
		return Rate{}, nil
	}
	number, unit, _ := strings.Cut(text, "/")
	n, err := strconv.Atoi(number)
	if err == nil && n > 0 && n <= mostRate {
		for _, s := range spans {
			if s.name == unit {
				return Rate{n, s.span}, nil
			}
		}
	}
	return Rate{}, fmt.Errorf(`%q is no rate: write it like "500/s", "10/m" or "100/h", or "off"`, text)
}

// Off reports whether there is no limit.
func (r Rate) Off() bool { return r.N == 0 }

// String writes the rate as [ParseRate] reads it.
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
