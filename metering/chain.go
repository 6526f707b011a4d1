package metering

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
)

// A Chain is the newest link of a chain of hashes: each is SHA-256 over the one before it, at first 32 zero bytes, and
// the SHA-256 of what is added. Whoever changes, removes or adds something by hand breaks it.
type Chain [sha256.Size]byte

// MarshalText implements [encoding.TextMarshaler].
func (c Chain) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, c[:]), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (c *Chain) UnmarshalText(text []byte) error {
	if n, err := hex.Decode(c[:], text[:min(len(text), 2*len(c))]); err != nil || n != len(c) || len(text) != 2*n {
		return fmt.Errorf("a hash is %d hexadecimal digits, not %q", 2*len(c), text)
	}
	return nil
}

// Next is the link of something that is told by its fields, of which the first names its kind and version.
func (c Chain) Next(fields ...string) Chain {
	var b []byte
	for _, f := range fields {
		b = appendField(b, f)
	}
	return c.next(b)
}

func (c Chain) next(form []byte) Chain { return c.over(sha256.Sum256(form)) }

// over is the link of what has a digest.
func (c Chain) over(digest [sha256.Size]byte) Chain {
	var both [2 * sha256.Size]byte
	copy(both[copy(both[:], c[:]):], digest[:])
	return sha256.Sum256(both[:])
}

// appendField appends the length of a field in decimal digits, a colon, and the field.
func appendField(b []byte, field string) []byte {
	b = strconv.AppendInt(b, int64(len(field)), 10)
	return append(append(b, ':'), field...)
}

// appendNumber appends a number as a field of decimal digits.
func appendNumber(b []byte, n int64) []byte {
	if n >= 0 && n < 10 { // as most are
		return append(b, '1', ':', byte('0'+n))
	}
	var digits [20]byte
	text := strconv.AppendInt(digits[:0], n, 10)
	b = strconv.AppendInt(b, int64(len(text)), 10)
	return append(append(b, ':'), text...)
}

// ledgerForm names the canonical form of entries.
const ledgerForm = "ledger.v1"

// AppendForm appends the canonical form of an entry, of which chains are made: ledgerForm, Account, Key, Endpoint,
// RequestID, At (in microseconds since 1970), Credits, Period (as months since the year 0), Overage, OverageRate and
// Ceiling, each with its length in bytes and a colon before it, numbers in decimal digits.
func (e *Entry) AppendForm(b []byte) []byte { return e.AppendParts(e.AppendRequest(e.AppendCaller(b))) }

// AppendCaller appends the first fields of the canonical form, up to Endpoint: what many entries have in common.
func (e *Entry) AppendCaller(b []byte) []byte {
	for _, field := range [...]string{ledgerForm, string(e.Account), string(e.Key), e.Endpoint} {
		b = appendField(b, field)
	}
	return b
}

// AppendRequest appends the next fields, RequestID and At.
func (e *Entry) AppendRequest(b []byte) []byte {
	return appendNumber(appendField(b, e.RequestID), e.At.UnixMicro())
}

// AppendParts appends the rest of the canonical form, from Credits on: what was fixed at admission.
func (e *Entry) AppendParts(b []byte) []byte {
	for _, n := range [...]int64{e.Credits, e.Period.Number(), e.Overage, e.OverageRate, e.Ceiling} {
		b = appendNumber(b, n)
	}
	return b
}

// Link is the link of charges of one account and month that were committed together: of their canonical forms, sorted
// as bytes and joined. Each of them keeps it as its Chain, and the balance keeps the newest.
func (c Chain) Link(group ...Entry) Chain {
	if len(group) == 1 {
		var space [512]byte // a usual entry needs no memory of the heap
		return c.next(group[0].AppendForm(space[:0]))
	}
	forms := make([][]byte, len(group))
	for i := range group {
		forms[i] = group[i].AppendForm(nil)
	}
	return c.LinkForms(forms)
}

// LinkForms is Link of canonical forms, which it sorts.
func (c Chain) LinkForms(forms [][]byte) Chain {
	if len(forms) == 1 {
		return c.next(forms[0])
	}
	slices.SortFunc(forms, bytes.Compare)
	h := sha256.New()
	for _, form := range forms {
		h.Write(form)
	}
	var digest [sha256.Size]byte
	h.Sum(digest[:0])
	return c.over(digest)
}

// Link is the link of the version in the chain of all versions, of which before is the one before it.
func (v PlanVersion) Link(before Chain) Chain {
	price := ""
	if v.Plan.PriceCents != nil {
		price = strconv.FormatInt(*v.Plan.PriceCents, 10)
	}
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	return before.Next("plan.v1", string(v.Plan.ID), v.Plan.Name, v.Plan.Currency, price,
		strconv.FormatBool(v.Plan.ForSale), number(v.Plan.Credits), number(int64(v.Plan.PerMinute)),
		number(v.Plan.OverageRate), number(v.From.Number()), number(v.ImportedAt.UnixMicro()))
}
