package sqlrow

import (
	"embed"
	"io/fs"
)

// Migrations returns the SQL files of the folder migrations, in the order of their names.
func Migrations(files embed.FS) []string {
	names, err := fs.Glob(files, "migrations/*.sql")
	if err != nil {
		panic(err) // the pattern is malformed
	}
	scripts := make([]string, len(names))
	for i, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			panic(err) // the file is embedded
		}
		scripts[i] = string(text)
	}
	return scripts
}
