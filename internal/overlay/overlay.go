// Package overlay builds the module with changed files in place of the real ones, which stay as
// they are. A build with an overlay uses the build cache for everything that is not changed.
package overlay

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// Write writes the changed files into a folder, and returns the path of the list that the flag
// -overlay of the go command takes. The keys are the paths of the real files; one that does not
// exist is added by the overlay.
func Write(folder string, changed map[string][]byte) (string, error) {
	replace := make(map[string]string)
	for path, content := range changed {
		original, err := filepath.Abs(path)
		if err != nil {
			return "", err
		}
		copied := filepath.Join(folder, fmt.Sprintf("%d-%s", len(replace), filepath.Base(path)))
		if err := os.WriteFile(copied, content, 0o600); err != nil {
			return "", err
		}
		replace[original] = copied
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	list := filepath.Join(folder, "overlay.json")
	return list, os.WriteFile(list, data, 0o600)
}
