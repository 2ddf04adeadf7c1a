package config

import "fmt"

// secret takes a text that may be in the file itself, in another file or in a variable: one of
// key, keyFile and keyEnv. Where none of them is set it is empty; ok is false where something is
// wrong, which was reported.
func (s *section) secret(key string, environ map[string]string) (value string, ok bool) {
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
	var err error
	switch {
	case given > 1:
		s.report("", "must have only one of %[1]s, %[1]sFile and %[1]sEnv", key)
		return "", false
	case file != "":
		key += "File"
		value, err = readSecret(s.loader.file.beside(file))
	case variable != "":
		key += "Env"
		if value = environ[variable]; value == "" {
			err = fmt.Errorf("the variable %s is not set", variable)
		}
	}
	if err != nil {
		s.report(key, "%v", err)
	}
	return value, err == nil
}
