package torture

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// disk is a file system in memory of its own, which can become full or read-only.
type disk struct{ path string }

// roomy is the size of a disk that is not full: memory is only used for what is on it.
const roomy = "size=50%"

// newDisk mounts a disk that is unmounted with the run.
func newDisk(t *run) (*disk, error) {
	path, err := os.MkdirTemp("", "dibs-disk-") // not in the run's folder, which PostgreSQL's user cannot enter
	if err != nil {
		return nil, err
	}
	t.harness.Cleanup(func() { os.RemoveAll(path) })
	d := &disk{path}
	err = syscall.Mount("tmpfs", d.path, "tmpfs", 0, roomy)
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		return nil, errors.New("only root may mount a disk of their own")
	}
	if err != nil {
		return nil, fmt.Errorf("a disk of their own cannot be mounted: %w", err)
	}
	t.harness.Cleanup(func() {
		if err := syscall.Unmount(d.path, syscall.MNT_DETACH); err != nil {
			t.harness.Error(err)
		}
	})
	return d, nil
}

// fill leaves no room on the disk. Others write meanwhile, and a disk cannot become smaller than
// what is on it.
func (d *disk) fill() error {
	for deadline := time.Now().Add(mostStarting); ; {
		var usage syscall.Statfs_t
		if err := syscall.Statfs(d.path, &usage); err != nil {
			return err
		}
		used := (usage.Blocks - usage.Bfree) * uint64(usage.Bsize)
		err := d.remount(0, fmt.Sprintf("size=%d", used))
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

// empty undoes fill.
func (d *disk) empty() error { return d.remount(0, roomy) }

// setReadOnly makes a disk read-only, on which no file is open for writing, or undoes it.
func (d *disk) setReadOnly(on bool) error {
	if on {
		return d.remount(syscall.MS_RDONLY, roomy)
	}
	return d.remount(0, roomy)
}

func (d *disk) remount(flags uintptr, options string) error {
	if err := syscall.Mount("tmpfs", d.path, "tmpfs", syscall.MS_REMOUNT|flags, options); err != nil {
		return fmt.Errorf("mounting %s again with %s: %w", d.path, options, err)
	}
	return nil
}
