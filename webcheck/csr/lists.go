package csr

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/pki"
)

// The lists of known keys of an operator, of which there may be any number (CONTRACT 8.1). None is built in.
const (
	KeyListFile   = "key-blocklist.json"       // see [pki.ParseKeyList]
	KeyHashesFile = "key-blocklist.txt"        // see [pki.ParseKeyHashes]
	KeyTableFile  = "key-blocklist.dat"        // the file blocklist.dat of badkeys, see [pki.NewKeyTable]
	KeyNamesFile  = "key-blocklist-names.json" // its file badkeysdata.json
)

// knownKeys reads the lists of the environment. The function that it returns closes the table, which is read bit by bit.
func knownKeys(env *diag.Env) (*pki.KnownKeys, func(), error) {
	known := &pki.KnownKeys{}
	nothing := func() {}
	if env == nil || env.Data == nil {
		return known, nothing, nil
	}
	lists, err := diag.List(env, KeyListFile, func() []pki.KeyList { return nil }, pki.ParseKeyList)
	if err != nil {
		return nil, nothing, err
	}
	hashes, err := diag.List(env, KeyHashesFile, func() []pki.KeyList { return nil }, func(data []byte) ([]pki.KeyList, error) {
		l, err := pki.ParseKeyHashes(KeyHashesFile, data)
		return []pki.KeyList{l}, err
	})
	if err != nil {
		return nil, nothing, err
	}
	known.Lists = append(append(known.Lists, lists...), hashes...)
	file, err := env.Data.Open(KeyTableFile)
	if errors.Is(err, fs.ErrNotExist) {
		return known, nothing, nil
	}
	if err != nil {
		return nil, nothing, fmt.Errorf("reading the list %s: %w", KeyTableFile, err)
	}
	closer := func() { _ = file.Close() }
	if known.Table, err = openTable(env, file); err != nil {
		closer()
		return nil, nothing, fmt.Errorf("reading the list %s: %w", KeyTableFile, err)
	}
	return known, closer, nil
}

// openTable uses the table where it lies, or in memory if its file cannot be read in pieces.
func openTable(env *diag.Env, file fs.File) (*pki.KeyTable, error) {
	names, err := diag.List(env, KeyNamesFile, func() []byte { return nil }, func(data []byte) ([]byte, error) { return data, nil })
	if err != nil {
		return nil, err
	}
	if at, ok := file.(io.ReaderAt); ok {
		info, err := file.Stat()
		if err != nil {
			return nil, err
		}
		return pki.NewKeyTable(at, info.Size(), names)
	}
	data, err := diag.List(env, KeyTableFile, func() []byte { return nil }, func(data []byte) ([]byte, error) { return data, nil })
	if err != nil {
		return nil, err
	}
	return pki.NewKeyTable(bytes.NewReader(data), int64(len(data)), names)
}

// CheckTable reads a whole table of known keys, to tell an operator what is wrong with it.
func CheckTable(data []byte) error {
	t, err := pki.NewKeyTable(bytes.NewReader(data), int64(len(data)), nil)
	if err != nil {
		return err
	}
	return t.CheckSorted()
}

// CheckNames reads the names of the lists in a table.
func CheckNames(data []byte) error {
	_, err := pki.NewKeyTable(bytes.NewReader(make([]byte, 16)), 16, data)
	return err
}
