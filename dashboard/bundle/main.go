// Command bundle builds the dashboard: it bundles dashboard/src into dashboard/dist with esbuild, as go generate runs it.
package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"log"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	files, err := bundle(".")
	if err != nil {
		log.Fatal(err)
	}
	if err := write("dist", files); err != nil {
		log.Fatal(err)
	}
}

// write replaces a folder by files.
func write(folder string, files map[string][]byte) error {
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	for name, content := range files {
		file := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(file, content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// libraries says where the bundle finds what the sources import by name. The files are copies, so that the build needs no node.
var libraries = map[string]string{
	"preact":                    "third_party/preact/preact.js",
	"preact/hooks":              "third_party/preact/hooks.js",
	"preact/jsx-runtime":        "third_party/preact/jsx-runtime.js",
	"@preact/signals-core":      "third_party/signals/signals-core.js",
	"@preact/signals":           "third_party/signals/signals.js",
	"uplot":                     "third_party/uplot/uPlot.js",
	"uplot/uPlot.css":           "third_party/uplot/uPlot.css",
	"@calldibs/client":          "../clients/typescript/src/index.ts",
	"@calldibs/client/operator": "../clients/typescript/src/operator.ts",
}

// bundle returns the files of dist by their names, built from the dashboard in folder.
func bundle(folder string) (map[string][]byte, error) {
	root, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	page, err := os.ReadFile(filepath.Join(root, "src", "index.html"))
	if err != nil {
		return nil, err
	}
	files := make(map[string][]byte)
	built, err := build(root)
	if err != nil {
		return nil, err
	}
	for _, out := range built {
		name := "assets/" + filepath.Base(out.Path)
		files[name] = out.Contents
		page = bytes.ReplaceAll(page, []byte(`"/`+plain(name)+`"`), []byte(`"/`+name+`"`))
	}
	files["index.html"] = page
	return files, compressAll(files)
}

// build runs esbuild.
func build(root string) ([]api.OutputFile, error) {
	aliases := make(map[string]string, len(libraries))
	for name, file := range libraries {
		aliases[name] = filepath.Join(root, filepath.FromSlash(file))
	}
	result := api.Build(api.BuildOptions{
		AbsWorkingDir: root,
		EntryPointsAdvanced: []api.EntryPoint{
			{InputPath: "src/main.tsx", OutputPath: "app"},
			{InputPath: "src/icon.svg", OutputPath: "icon"},
		},
		EntryNames:        "[name]-[hash]",
		AssetNames:        "[name]-[hash]",
		Outdir:            "assets",
		Loader:            map[string]api.Loader{".svg": api.LoaderCopy},
		Bundle:            true,
		Format:            api.FormatESModule,
		Target:            api.ES2022,
		JSX:               api.JSXAutomatic,
		JSXImportSource:   "preact",
		Alias:             aliases,
		MinifyWhitespace:  true,
		MinifyIdentifiers: true,
		MinifySyntax:      true,
		Charset:           api.CharsetUTF8,
		LegalComments:     api.LegalCommentsEndOfFile,
		TsconfigRaw:       `{"compilerOptions": {"verbatimModuleSyntax": true}}`,
	})
	// A warning is a mistake too, such as a style sheet that does not parse.
	if problems := slices.Concat(result.Errors, result.Warnings); len(problems) > 0 {
		return nil, errors.New(strings.Join(api.FormatMessages(problems, api.FormatMessagesOptions{}), ""))
	}
	return result.OutputFiles, nil
}

// plain returns the name of a file without its hash: assets/app.js for assets/app-3X5W2Q.js.
func plain(name string) string {
	extension := path.Ext(name)
	return name[:strings.LastIndexByte(name, '-')] + extension
}

// compressFrom is the size from which a file is worth compressing.
const compressFrom = 1024

// compressAll adds a compressed copy of each large file.
func compressAll(files map[string][]byte) error {
	compressed := make(map[string][]byte)
	for name, content := range files {
		if len(content) < compressFrom {
			continue
		}
		var out bytes.Buffer
		w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
		if err != nil {
			return err
		}
		if _, err := w.Write(content); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		compressed[name+".gz"] = out.Bytes()
	}
	maps.Copy(files, compressed)
	return nil
}
