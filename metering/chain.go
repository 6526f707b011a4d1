package metering

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
)

// A Chain is the newest link of a chain of hashes: each is SHA-256 over the one before it, at first 32 zero bytes, and
// the SHA-256 of what is added. Any change, removal or addition from outside breaks it.
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

// Next returns the link of an element given by its fields; the first field names its kind and version.
func (c Chain) Next(fields ...string) Chain {
	var b []byte
	for _, f := range fields {
		b = appendField(b, f)
	}
	return c.LinkForm(b)
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

// groupForm names the canonical form of a group of entries.
const groupForm = "ledger.v2"

// AppendGroup appends the beginning of the canonical form of a group: entries of one account and month that are
// committed together, in their order. It is "ledger.v2", the account and the period (as months since the year 0), then
// of each entry Key, Endpoint, RequestID, At (in microseconds since 1970), Credits, Overage, OverageRate and Ceiling,
// each with its length in bytes and a colon before it, numbers in decimal digits.
func AppendGroup(b []byte, account AccountID, p Period) []byte {
	return appendNumber(AppendAccount(b, account), p.Number())
}

// AppendAccount appends what [AppendGroup] does, without the period.
func AppendAccount(b []byte, account AccountID) []byte {
	return appendField(appendField(b, groupForm), string(account))
}

// AppendForm appends the part of an entry in the canonical form of its group.
func (e *Entry) AppendForm(b []byte) []byte { return e.AppendParts(e.AppendRequest(e.AppendCaller(b))) }

// AppendCaller appends the first fields of an entry, Key and Endpoint: the part that many share.
func (e *Entry) AppendCaller(b []byte) []byte {
	return appendField(appendField(b, string(e.Key)), e.Endpoint)
}

// AppendRequest appends the next fields, RequestID and At.
func (e *Entry) AppendRequest(b []byte) []byte {
	return appendNumber(appendField(b, e.RequestID), e.At.UnixMicro())
}

// AppendParts appends the rest, from Credits on: the fields fixed at admission.
func (e *Entry) AppendParts(b []byte) []byte {
	return appendNumber(appendNumber(appendNumber(appendNumber(b, e.Credits), e.Overage), e.OverageRate), e.Ceiling)
}

// Link returns the link of a group of entries. The last entry of the group keeps it as its Chain; the balance keeps
// the newest.
func (c Chain) Link(group ...Entry) Chain {
	form := AppendGroup(nil, group[0].Account, group[0].Period)
	for i := range group {
		form = group[i].AppendForm(form)
	}
	return c.LinkForm(form)
}

// LinkForm returns the link of a group in its canonical form.
func (c Chain) LinkForm(form []byte) Chain {
	digest := sha256.Sum256(form)
	var both [2 * sha256.Size]byte
	copy(both[copy(both[:], c[:]):], digest[:])
	return sha256.Sum256(both[:])
}

// Link returns the link of the version in the chain of all versions; before is the link before it.
func (v PlanVersion) Link(before Chain) Chain {
	price := ""
	if v.Plan.PriceCents != nil {
		price = strconv.FormatInt(*v.Plan.PriceCents, 10)
	}
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	fields := []string{"plan.v1", string(v.Plan.ID), v.Plan.Name, v.Plan.Currency, price,
		strconv.FormatBool(v.Plan.ForSale), number(v.Plan.Credits), number(int64(v.Plan.PerMinute)),
		number(v.Plan.OverageRate), number(v.From.Number()), number(v.ImportedAt.UnixMicro())}
	if v.ReplacesAllowances {
		fields = append(fields, "existing")
	}
	return before.Next(fields...)
}
