package sqlitestore

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/bits"
	"os"
	"syscall"
	"time"

	"github.com/calldibs/dibs/internal/backoff"
)

// The parts of a WAL file, see https://www.sqlite.org/fileformat2.html#walformat.
const (
	walHeader    = 32
	walSaltAt    = 16
	walSumAt     = 24
	frameHeader  = 24 // begins with the number of the page
	framePagesAt = 4  // the pages of the file, in the last frame of a transaction; else zero
	frameSaltAt  = 8
	frameSumAt   = 16
)

// checkWAL returns an error that wraps [ErrDamaged] if commits in the WAL of a file are lost.
//
// SQLite reads a WAL up to the first frame with a wrong checksum, and takes that for the end: a crash may have torn the last
// transaction. A flipped bit looks the same, and hides all later commits without an error: their names would be
// given away. But a transaction is synced before the next one begins, and its checksums continue those of the transaction
// before. So if a frame behind the end continues a commit, then that commit was whole, and is lost.
//
// The damage of the last transaction, and a WAL that was cut off, cannot be told from a crash.
func checkWAL(ctx context.Context, conn *session) error {
	path, err := walPath(ctx, conn)
	if err != nil {
		return err
	}
	size, err := readInt(ctx, conn, pageSize)
	if err != nil {
		return err
	}
	// Another process may write meanwhile, and then the end moves. That of a damaged WAL stays.
	for seen := (walEnd{at: -1}); ; {
		end, err := scanToEnd(path, size)
		if err != nil || !end.lost {
			return err
		}
		if end == seen {
			return fmt.Errorf("%w; in its log commits are lost behind byte %d: to do without them, stop all processes and run truncate -s %d %q",
				ErrDamaged, end.at, end.at, path)
		}
		seen = end
		if err := backoff.Sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// walPath returns the path of the WAL of a connection's file, which may be behind a symbolic link.
func walPath(ctx context.Context, conn *session) (string, error) {
	file, err := readRow(ctx, conn, selectFile)
	if err != nil {
		return "", err
	}
	return asText(file[0]) + "-wal", nil
}

// syncWAL writes the WAL to the disk. A process may have been killed when it had written a commit, and before it had synced
// it. SQLite recovers such a commit without a sync: callers see it, and must not lose it when the power fails.
func syncWAL(ctx context.Context, conn *session) error {
	path, err := walPath(ctx, conn)
	if err != nil {
		return err
	}
	wal, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return nil // there is nothing to sync, or the store cannot be opened for writing
	}
	if err != nil {
		return err
	}
	return errors.Join(wal.Sync(), wal.Close())
}

// walEnd is where SQLite stops to read a WAL.
type walEnd struct {
	at   int64
	salt [8]byte
	lost bool // commits behind it
}

// scanToEnd reads a WAL. A missing one is empty.
func scanToEnd(path string, pageSize int64) (walEnd, error) {
	wal, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return walEnd{}, nil
	}
	if err != nil {
		return walEnd{}, err
	}
	defer wal.Close()
	return findEnd(bufio.NewReaderSize(wal, 1<<20), pageSize)
}

// findEnd finds the end of a WAL, and whether commits behind it are lost.
func findEnd(wal io.Reader, pageSize int64) (end walEnd, err error) {
	header := make([]byte, walHeader)
	if _, err := io.ReadFull(wal, header); err != nil {
		return end, ignoreEOF(err)
	}
	var (
		order     = wordOrder(header)
		sum       = storedSum(header[walSumAt:])
		computed  = order.add(walSum{}, header[:walSumAt]) // the sum, unless one of both is damaged
		isValid   = computed == sum
		hasEnded  = !isValid // SQLite reads nothing behind a damaged header
		wasCommit = false    // the frame before
		frame     = make([]byte, frameHeader+pageSize)
	)
	end.salt = [8]byte(header[walSaltAt:])
	for at := int64(walHeader); ; at += int64(len(frame)) {
		if _, err := io.ReadFull(wal, frame); err != nil {
			return end, ignoreEOF(err)
		}
		if at == walHeader && !isValid {
			end.salt = [8]byte(frame[frameSaltAt:]) // that of the header may be what is damaged
		}
		stored, next := storedSum(frame[frameSumAt:]), walSum{}
		// Frames from before the WAL started over have another salt, and may be many.
		isOwn := end.salt == [8]byte(frame[frameSaltAt:])
		if isOwn {
			next = order.ofFrame(sum, frame)
		}
		if isOwn && next != stored && computed != sum {
			next = order.ofFrame(computed, frame)
		}
		continues := isOwn && next == stored
		switch {
		case !hasEnded && !continues:
			hasEnded, end.at = true, at
		case hasEnded && continues && wasCommit:
			end.lost = true
			return end, nil
		}
		sum, computed, wasCommit = stored, next, binary.BigEndian.Uint32(frame[framePagesAt:]) != 0
	}
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// walSum is a checksum of a WAL. That of a frame is about all frames before it, too.
type walSum struct{ a, b uint32 }

func storedSum(data []byte) walSum {
	return walSum{binary.BigEndian.Uint32(data), binary.BigEndian.Uint32(data[4:])}
}

// isSwapped says that the words of which sums are made are in big-endian order.
type isSwapped bool

// wordOrder returns the order that the header of a WAL names. If it is damaged, it was probably that of this machine.
func wordOrder(header []byte) isSwapped {
	const magic = 0x377f0682 // and one more for big-endian
	switch binary.BigEndian.Uint32(header) {
	case magic:
		return false
	case magic + 1:
		return true
	}
	return binary.NativeEndian.Uint16([]byte{0, 1}) == 1
}

// ofFrame returns the sum of a frame that comes behind another one.
func (order isSwapped) ofFrame(before walSum, frame []byte) walSum {
	return order.add(order.add(before, frame[:frameSaltAt]), frame[frameHeader:])
}

// add adds data of pairs of words to a sum.
func (order isSwapped) add(s walSum, data []byte) walSum {
	for ; len(data) >= 8; data = data[8:] {
		x, y := binary.LittleEndian.Uint32(data), binary.LittleEndian.Uint32(data[4:])
		if order {
			x, y = bits.ReverseBytes32(x), bits.ReverseBytes32(y)
		}
		s.a += x + s.b
		s.b += y + s.a
	}
	return s
}
