package config

import "fmt"

// secret reads a text: key contains it, keyFile names a file with it, or keyEnv a variable. It
// returns the text, which is empty if no key is set, and the key that is set. Ok is false after
// an error, which was reported.
func (s *section) secret(key string, environ map[string]string) (value, from string, ok bool) {
	var file, variable string
	s.text(key, &value)
	s.text(key+"File", &file)
	s.text(key+"Env", &variable)
	given := 0
	for _, text := range []string{value, file, variable} {
		if text != "" {
			given++
		}
	}
	from = key
	var err error
	switch {
	case given > 1:
		s.report("", "must have only one of %[1]s, %[1]sFile and %[1]sEnv", key)
		return "", key, false
	case file != "":
		from = key + "File"
		value, err = readSecret(s.loader.file.resolve(file))
	case variable != "":
		from = key + "Env"
		if value = environ[variable]; value == "" {
			err = fmt.Errorf("the variable %s is not set", variable)
		}
	}
	if err != nil {
		s.report(from, "%v", err)
	}
	return value, from, err == nil
}
