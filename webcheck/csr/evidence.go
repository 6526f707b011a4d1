package csr

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/pki"
)

// evidence is the input of the rules; only digest fills it.
type evidence struct {
	paste  *paste
	block  *block    // the one that is judged; nil if none of the text could be one
	damage string    // why the block is not a request, as a sentence
	csr    *contents // nil if there is no request that can be read
	count  int       // of requests in the text

	validity pki.Validity
	key      pki.PublicKey
	checks   map[pki.CheckCode]pki.KeyCheck
	ordered  []pki.KeyCheck
	names    []Name // of the SAN; without one, the common name
	common   []string
	fixed    *string // what correction found, which many findings repeat

	usable  bool     // nothing in the request keeps all authorities from issuing, and no private key is beside it
	clean   string   // the request in PEM form, where the text is not the file that should be handed in
	damages []string // how the text was altered, as clauses
}

// maxJudged bounds the names that are judged: public authorities stop at 100.
const maxJudged = pki.MaxNames

func (e *evidence) digest(text string, known *pki.KnownKeys) error {
	e.paste = find(text)
	for i := range e.paste.Blocks {
		if e.paste.Blocks[i].Kind == requestKind {
			e.count++
			if e.block == nil || e.block.DER == nil {
				e.block = &e.paste.Blocks[i]
			}
		}
	}
	if e.block == nil {
		return nil
	}
	if e.damage = e.block.Fault; e.damage != "" {
		return nil
	}
	c, err := readDER(e.block.DER)
	if err != nil {
		e.damage = reason(err)
		return nil
	}
	e.csr = c
	e.validity = c.Key.Check(c.Algorithm, c.Signed, c.Signature)
	e.key = c.Key.Describe()
	if e.ordered, err = c.Key.Checks(known); err != nil {
		return err
	}
	e.checks = map[pki.CheckCode]pki.KeyCheck{}
	for _, check := range e.ordered {
		e.checks[check.Code] = check
		if check.Status == pki.CheckFailed && !e.key.Weak {
			e.key.Weak, e.key.WeakReason = true, clause(check.Detail)
		}
	}
	e.judgeNames()
	e.judgeForm(text)
	return nil
}

// judgeForm compares the text with the file that should be handed in. A clean copy is for requests that can be used:
// others have to be made anew.
func (e *evidence) judgeForm(text string) {
	state := authorityRules().Judge(e, nil).State
	e.usable = e.paste.Secret == "" && (state == diag.Valid || state == diag.Warned)
	whole := isPEM(text, e.block.DER)
	if !e.usable || whole && len(e.paste.Blocks) == 1 {
		return
	}
	e.clean = cleanPEM(e.block.DER)
	switch {
	case whole: // beside other blocks
	case e.paste.Encoding != "":
		e.damages = []string{e.paste.Encoding}
	default:
		e.damages = damages(text, e.block.Label)
	}
	if e.damages == nil && !whole && slices.Contains(pemLabels, e.block.Label) {
		e.damages = []string{"its lines are not those of a PEM file"}
	}
}

func reason(err error) string {
	if m, ok := err.(*malformedError); ok {
		return m.Reason
	}
	return "The request cannot be read."
}

func clause(s string) string {
	s = strings.TrimSuffix(s, ".")
	if first, _, _ := strings.Cut(s, " "); first == "The" {
		return "t" + s[1:]
	}
	return s
}

func (e *evidence) judgeNames() {
	for _, a := range e.csr.Attributes {
		if a.OID == oidCommonName && a.Value != "" {
			e.common = append(e.common, a.Value)
		}
	}
	e.names = kit.Map(e.csr.Names[:min(len(e.csr.Names), maxJudged)], judgeName)
	if len(e.csr.Names) == 0 && len(e.common) > 0 {
		e.names = append(e.names, judgeName(asName(e.common[len(e.common)-1])))
	}
}

// asName is a common name as an alternative name.
func asName(s string) generalName {
	if ip, err := netip.ParseAddr(s); err == nil {
		return generalName{Type: IPName, Value: ip.String(), IP: ip}
	}
	return generalName{Type: DNSName, Value: s}
}

func (e *evidence) listed(common string) bool {
	ip, err := netip.ParseAddr(common)
	return slices.ContainsFunc(e.csr.Names, func(n generalName) bool {
		return n.Type == DNSName && strings.EqualFold(n.Value, common) || n.Type == IPName && err == nil && n.IP == ip
	})
}

// shown makes a name of a request fit for a sentence.
func shown(s string) string {
	if s == "" {
		return "that is empty"
	}
	return phrase.Quote(s)
}

// The names of the files with lists of compromised keys in Env.Data, all of them optional (CONTRACT 8.1); see
// [diag.List]. None is built in.
const (
	KeyListFile   = "key-blocklist.json"       // see [pki.ParseKeyList]
	KeyHashesFile = "key-blocklist.txt"        // see [pki.ParseKeyHashes]
	KeyTableFile  = "key-blocklist.dat"        // the file blocklist.dat of badkeys, see [pki.NewKeyTable]
	KeyNamesFile  = "key-blocklist-names.json" // its file badkeysdata.json
)

// knownKeys reads the lists of the environment. The function that it returns closes the table, which is read bit by
// bit.
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
	none := func() []pki.KeyList { return nil }
	hashes, err := diag.List(env, KeyHashesFile, none, func(data []byte) ([]pki.KeyList, error) {
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
	names, err := diag.List(env, KeyNamesFile, func() []byte { return nil }, func(data []byte) ([]byte, error) {
		return data, nil
	})
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
	data, err := diag.List(env, KeyTableFile, func() []byte { return nil }, func(data []byte) ([]byte, error) {
		return data, nil
	})
	if err != nil {
		return nil, err
	}
	return pki.NewKeyTable(bytes.NewReader(data), int64(len(data)), names)
}

// CheckTable returns an error if the file [KeyTableFile] is invalid.
func CheckTable(data []byte) error {
	t, err := pki.NewKeyTable(bytes.NewReader(data), int64(len(data)), nil)
	if err != nil {
		return err
	}
	return t.CheckSorted()
}

// CheckNames returns an error if the file [KeyNamesFile] is invalid.
func CheckNames(data []byte) error {
	_, err := pki.NewKeyTable(bytes.NewReader(make([]byte, 16)), 16, data)
	return err
}
