package demo

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/backoff"
)

var couple = dibs.Entity{Type: "wedding", ID: "43"}

func databasePath(folder string) string { return filepath.Join(folder, "names.db") }

// weddingPath is where the shop saves its weddings, outside of the registry.
func weddingPath(folder string, entity dibs.Entity) string {
	return filepath.Join(folder, entity.Type+"-"+entity.ID)
}

// lookForWedding is the witness: it checks whether the wedding was saved. Answering absent is
// safe here, because the customer's process is dead when the hold ends; a real shop fences its
// save by the hold's epoch, or by a deadline.
func lookForWedding(folder string) dibs.Witness {
	return func(_ context.Context, hold dibs.SuspectHold) (dibs.Verdict, error) {
		_, err := os.Stat(weddingPath(folder, hold.Entity))
		switch {
		case err == nil:
			return dibs.Exists(hold.Entity), nil
		case errors.Is(err, os.ErrNotExist):
			return dibs.Absent, nil
		default:
			return dibs.Unknown, err
		}
	}
}

const savedMark = "saved"

// Customer is the second process of the demo: it reserves a name, saves its wedding, reports that,
// and is killed before it confirms.
func Customer(ctx context.Context, out io.Writer, folder string) error {
	reg, err := openRegistry(ctx, folder)
	if err != nil {
		return err
	}
	_, err = reg.Do(ctx, dibs.Reserve{Namespace: namespace, Value: "carol-dave", TTL: dibs.For(shortHold), Entity: couple},
		func(ctx context.Context, _ dibs.Hold) (dibs.Entity, error) {
			if err := os.WriteFile(weddingPath(folder, couple), []byte("paid\n"), 0o600); err != nil {
				return dibs.Entity{}, err
			}
			fmt.Fprintln(out, savedMark)
			<-ctx.Done() // until it is killed
			return couple, ctx.Err()
		})
	return err
}

// crash kills a process between saving its wedding and confirming the name. The witness then
// finds the wedding.
func (s *story) crash(ctx context.Context, customer []string) error {
	s.chapter("5. A crash between saving the wedding and confirming its name")
	if err := s.killCustomer(ctx, customer); err != nil {
		return err
	}
	s.tell("The wedding is saved, the name is not confirmed, and its hold runs out.")
	for {
		report, err := s.Sweep(ctx, 100)
		if err != nil {
			return err
		}
		name, err := s.Get(ctx, dibs.Lookup{Namespace: namespace, Value: "carol-dave"})
		if err != nil {
			return err
		}
		switch {
		case report.Settled == 0:
			if err := backoff.Sleep(ctx, max(name.Remaining, time.Millisecond)); err != nil {
				return err
			}
		case name.State != dibs.Active:
			return fmt.Errorf("after the crash %s is %s; it must be active, please report it", name.Key(), name.State)
		default:
			s.tell("The witness finds the wedding: %s is %s and belongs to %s.", name.Key(), name.State, name.Entity)
			s.tell("A clean-up job would have given it to the next customer.")
			return nil
		}
	}
}

// killCustomer starts the second process, and kills it once it has saved.
func (s *story) killCustomer(ctx context.Context, customer []string) error {
	process := exec.CommandContext(ctx, customer[0], append(customer[1:], s.folder)...)
	process.Stderr = os.Stderr
	output, err := process.StdoutPipe()
	if err != nil {
		return err
	}
	if err := process.Start(); err != nil {
		return fmt.Errorf("the second process did not start: %w", err)
	}
	s.tell("Process %d reserves carol-dave and saves its wedding …", process.Process.Pid)
	line, _, err := bufio.NewReader(output).ReadLine()
	if err != nil || string(line) != savedMark {
		_ = process.Process.Kill()
		return fmt.Errorf("the second process did not save: %q, %w", line, errors.Join(err, process.Wait()))
	}
	if err := process.Process.Kill(); err != nil {
		return err
	}
	_ = process.Wait() // the signal ends it
	s.tell("… and is killed: %s.", process.ProcessState)
	return nil
}
