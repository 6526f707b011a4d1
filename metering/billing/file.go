package billing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// FileBiller hands invoices to whatever reads a folder: an accounting program, or a person. For each it writes one line
// of JSON into a file of its own, which is called by the month and the account, such as 2026-10/acc_….jsonl; `cat
// DIR/2026-10/*.jsonl` is a month. A file appears whole, durably and once, also where several nodes share the folder.
type FileBiller struct{ Dir string }

// Charge implements [Biller]. The reference is the name of the file.
func (f FileBiller) Charge(ctx context.Context, v Invoice) (Payment, error) {
	if err := ctx.Err(); err != nil {
		return Payment{}, err
	}
	// What a repetition would write, too.
	v.State, v.Attempts, v.Failures, v.Declines, v.NextAttempt = Paid, []Attempt{}, 0, 0, nil
	line, err := json.Marshal(v)
	if err != nil {
		return Payment{}, err
	}
	name := filepath.Join(v.Period.String(), string(v.Account)+strings.TrimPrefix(v.ID, v.Period.String())+".jsonl")
	path := filepath.Join(f.Dir, name)
	if _, err := os.Stat(path); err == nil {
		return written(name), syncDir(filepath.Dir(path)) // a crash may have come before it
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return Payment{}, err
	}
	temporary, err := writeTemporary(filepath.Dir(path), append(line, '\n'))
	if err != nil {
		return Payment{}, fmt.Errorf("writing invoice %s: %w", name, err)
	}
	defer os.Remove(temporary)
	// Unlike a renaming, a link replaces nothing.
	if err := os.Link(temporary, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return Payment{}, err
	}
	if err := errors.Join(syncDir(filepath.Dir(path)), syncDir(f.Dir)); err != nil {
		return Payment{}, err
	}
	return written(name), nil
}

func written(name string) Payment {
	return Payment{Status: PaymentPaid, Reference: PaymentRef(filepath.ToSlash(name))}
}

// writeTemporary makes a file durable under a name that no pattern for invoices meets.
func writeTemporary(dir string, data []byte) (path string, err error) {
	t, err := os.CreateTemp(dir, ".invoice-*")
	if err != nil {
		return "", err
	}
	_, err = t.Write(data)
	if err == nil {
		err = t.Sync()
	}
	if err = errors.Join(err, t.Close()); err != nil {
		return "", errors.Join(err, os.Remove(t.Name()))
	}
	return t.Name(), nil
}

// syncDir makes the names in a folder durable.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
