package config

import "github.com/calldibs/dibs/internal/tracing"

// readTracing reads [tracing]. It does not open the file of headers: a command that needs only
// the policies may lack the permission.
func (l *loader) readTracing(s *section) {
	if s == nil {
		return
	}
	c := &l.config.Tracing
	s.text("endpoint", &c.Endpoint)
	s.fraction("sample", &c.Sample)
	s.text("serviceName", &c.ServiceName)
	if headers := s.table("headers"); headers != nil {
		for name := range headers.values {
			var value string
			if !headers.text(name, &value) {
				continue
			}
			if c.Headers == nil {
				c.Headers = make(map[string]string)
			}
			c.Headers[name] = value
		}
	}
	s.text("headersFile", &c.HeadersFile)
	s.finish()
	if c.HeadersFile != "" {
		c.HeadersFile = l.file.resolve(c.HeadersFile)
	}
	if c.Endpoint != "" {
		if err := tracing.CheckEndpoint(c.Endpoint); err != nil {
			s.report("endpoint", "%v", err)
		}
	}
	if c.ServiceName == "" {
		s.report("serviceName", "is empty: set a name, or remove the setting")
	}
}

// fraction reads a number from 0 to 1.
func (s *section) fraction(key string, into *float64) {
	value, whole := s.values[key].(int64)
	if whole {
		s.known = append(s.known, key)
		*into = float64(value)
	} else if number, ok := take[float64](s, key, "a number from 0 to 1"); ok {
		*into = number
	}
	if !(*into >= 0 && *into <= 1) { // NaN too
		s.report(key, "is %v; it must be between 0 and 1", *into)
	}
}
