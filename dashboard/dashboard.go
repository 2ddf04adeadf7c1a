// Package dashboard has the web pages of the server: a client of the public API that runs in a browser. The pages are written in
// TypeScript, in src; go generate bundles them into dist, which is committed, so that building Dibs takes only Go.
package dashboard

import (
	"embed"
	"io/fs"
)

//go:generate go run ./bundle

//go:embed dist
var dist embed.FS

// Files returns the files of the dashboard: index.html, and its scripts, styles and pictures in assets, whose names change with
// their content. Beside each file of a kilobyte or more is a copy that is compressed with gzip, with the extension .gz.
func Files() fs.FS {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // the name of the folder is not valid
	}
	return files
}
